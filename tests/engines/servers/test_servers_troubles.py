"""Problems of a real cluster are reported in a sentence each, without a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tailcut.engines.records.read import read_run
from waiting import limit

OTHER_VERSION = "import ray; ray.__version__ = '1.0.0'; "
MAIN = "from tailcut.cli import main; main()"
HEARS = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
"""A shell that starts tests in the background makes them deaf to interrupts."""
HERE = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Makes Ray keep a loopback address: the cluster of these tests listens on no other."""
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
        timeout=limit(150),
        check=False,
    )


@pytest.mark.parametrize(
    ("before", "environment", "words"),
    [
        ("", {"RAY_AUTH_TOKEN": "0" * 64}, "did not accept this process's token"),
        ("", {"RAY_AUTH_TOKEN": "", "HOME": "/nowhere"}, "This process has no token to show"),
        (OTHER_VERSION, {}, "runs other versions than this process"),
    ],
)
def test_who_does_not_fit_the_cluster_is_told(
    ray: Any, before: str, environment: dict[str, str], words: str
) -> None:
    address = ray.get_runtime_context().gcs_address
    command = ("train", "--engine", "ray", "--address", address, "--task", "logistic", "--updates", "2")
    ended = tried(before + MAIN, *command, "--workers", "1", **HERE, **environment)
    assert ended.returncode == 1
    (line,) = [line for line in ended.stderr.splitlines() if line.startswith("tailcut: ")]
    assert words in line
    assert "Traceback" not in ended.stderr


def test_the_private_cluster_of_another_run_is_refused_before_ray_retries(ray: Any) -> None:
    """Ray would look for it on another address of this machine, for minutes."""
    address = ray.get_runtime_context().gcs_address
    ended = tried(
        "import sys; from tailcut.engines.servers.cluster import cluster\n"
        "try:\n with cluster(sys.argv[1], 1): pass\nexcept ValueError as error: print(error)",
        address,
    )
    port = address.rpartition(":")[2]
    assert f":{port} (Connection refused). Give the address" in ended.stdout, ended.stderr


def test_a_full_store_is_told() -> None:
    alone = {"RAY_automatic_object_spilling_enabled": "0", "RAY_local_fs_capacity_threshold": "0.0001"}
    ended = tried(FULL, **alone)
    assert "told: Ray's object store is full" in ended.stdout, ended.stderr


def test_ctrl_c_ends_the_run_with_one_sentence_and_what_was_made_is_kept(ray: Any, tmp_path: Path) -> None:
    address = ray.get_runtime_context().gcs_address
    command = [sys.executable, "-c", HEARS + MAIN, "train", "--engine", "ray", "--address", address]
    command += [
        "--task",
        "logistic",
        "--workers",
        "2",
        "--batch",
        "8",
        "--updates",
        "1000000",
        "--every",
        "60",
    ]
    command += [
        "--policy",
        "wait-all",
        "--checkpoints",
        str(tmp_path / "kept"),
        "--journal",
        str(tmp_path / "run"),
    ]
    with subprocess.Popen(
        command, env=os.environ | HERE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        try:
            assert running.stderr is not None
            before = [running.stderr.readline() for _ in range(3)]
            os.killpg(running.pid, signal.SIGINT)
            _, after = running.communicate(timeout=limit(100))
        finally:
            if running.poll() is None:
                running.kill()
    assert "60 updates:" in before[2], before
    assert running.returncode == 130
    # The report on stragglers comes first.
    assert after.splitlines()[-1] == "tailcut: Interrupted; nothing more was computed."
    assert "Traceback" not in after
    ending = read_run(tmp_path / "run").ending
    assert ending is not None
    assert ending.version >= 60
    newest = max((tmp_path / "kept").glob("v*.safetensors")).stem
    assert int(newest[1:]) == ending.version, "it can go on from where it was broken off"
    until = time.monotonic() + limit(60)
    while ray.available_resources()["CPU"] < ray.cluster_resources()["CPU"]:
        assert time.monotonic() < until, "its workers and servers are still there"
        time.sleep(0.1)
