from __future__ import annotations

import gzip
import struct
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tailcut import names
from tailcut.learning.tasks.base import Task
from tailcut.learning.tasks.own import task_of
from tailcut.learning.tasks.presets import TASKS
from tailcut.testing.tasks import TaskSuite


def idx(array: NDArray[np.uint8]) -> bytes:
    return bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def mnist(folder: Path) -> Task:
    rng = np.random.default_rng(0)
    for part, count in (("train", 60), ("t10k", 20)):
        images = rng.integers(0, 256, (count, 12, 12), dtype=np.uint8)
        (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images)))
        labels = np.arange(count, dtype=np.uint8) % 10
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(idx(labels))
    return names.task(f"mnist:folder={folder}:channels=4")


def cifar10(folder: Path) -> Task:
    rng = np.random.default_rng(1)
    for name in ("data_batch_1", "data_batch_2", "test_batch"):
        records = rng.integers(0, 256, (20, 3073), dtype=np.uint8)
        records[:, 0] = np.arange(20) % 10
        (folder / f"{name}.bin").write_bytes(records.tobytes())
    return names.task(f"cifar10:folder={folder}:width=4:batch=2")


def of_own(folder: Path) -> Task:
    del folder
    x = torch.linspace(-1.0, 1.0, 60)[:, None]
    y = (x[:, 0] > 0.0).long()
    return task_of(net=lambda: torch.nn.Linear(1, 2), train=(x, y), test=(x, y), batch=3, skew=0.5, of=4)


def named(spec: str) -> Callable[[Path], Task]:
    return lambda folder: names.task(spec)


MADE: dict[str, Callable[[Path], Task]] = {
    "digits": named("digits"),
    "digits, skewed": named("digits:skew=1.0:of=10"),
    "quadratic": named("quadratic"),
    "quadratic, curved noise": named("quadratic:noise=curvature:dimension=5:condition=3.0"),
    "logistic": named("logistic"),
    "mnist": mnist,
    "cifar10": cifar10,
    "text": named("text:limit=100000"),
    "cartpole": named("cartpole:episodes=10:steps=60:goal=50"),
    "uneven": named("uneven"),
    "own": of_own,
}


def test_every_named_task_is_tested() -> None:
    assert set(TASKS) <= {name.split(",")[0] for name in MADE}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Task]:
    """A function that returns the task of a name, made once per module."""
    return lru_cache(lambda name: MADE[name](tmp_path_factory.mktemp("data")))


class TestTasks(TaskSuite):
    @pytest.fixture(params=MADE)
    def task(self, request: pytest.FixtureRequest, made: Callable[[str], Task]) -> Task:
        return made(request.param)
