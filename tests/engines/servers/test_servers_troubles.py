"""What goes wrong with a real cluster: a sentence each, and no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(90)

OTHER_VERSION = "import ray; ray.__version__ = '1.0.0'; "
MAIN = "from tailcut.cli import main; main()"
FULL = """
from functools import partial
import torch
from tailcut import names
from tailcut.engines.servers.cluster import cluster
from tailcut.engines.servers.computing import Setting
from tailcut.engines.servers.failures import ServersError
from tailcut.engines.servers.plan import Plan
from tailcut.engines.servers.train import train
from tailcut.learning.recipe import Recipe
from tailcut.learning.tasks.own import task_of


def task():
    data = torch.zeros(64, 2000), torch.zeros(64, dtype=torch.long)
    return task_of(net=lambda: torch.nn.Linear(2000, 12000), train=data, test=data)


plan = Plan(Setting(task, 1, 0), names.entrant("wait-all").policy, Recipe(0.1), 2, updates=50, every=100)
with cluster(None, processors=3, store=80_000_000) as ray:
    try:
        train(ray, plan)
    except ServersError as error:
        print("told:", error)
"""
"""Parameters of 96 MB in a store of 80 MB that may not use the disk."""


def tried(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=80,
        check=False,
    )


@pytest.mark.parametrize(
    ("before", "environment", "words"),
    [
        ("", {"RAY_AUTH_TOKEN": "0" * 64}, "did not accept this process's token"),
        (OTHER_VERSION, {}, "runs other versions than this process"),
    ],
)
def test_who_does_not_fit_the_cluster_is_told(
    ray: Any, before: str, environment: dict[str, str], words: str
) -> None:
    address = ray.get_runtime_context().gcs_address
    command = ("train", "--engine", "ray", "--address", address, "--task", "logistic", "--updates", "2")
    ended = tried(before + MAIN, *command, "--workers", "1", **environment)
    assert ended.returncode == 1
    (line,) = [line for line in ended.stderr.splitlines() if line.startswith("tailcut: ")]
    assert words in line
    assert "Traceback" not in ended.stderr


def test_a_full_store_is_told() -> None:
    alone = {"RAY_automatic_object_spilling_enabled": "0", "RAY_local_fs_capacity_threshold": "0.0001"}
    ended = tried(FULL, **alone)
    assert "told: Ray's object store is full" in ended.stdout, ended.stderr
