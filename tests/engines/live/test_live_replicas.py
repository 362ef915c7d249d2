"""Real processes under random lateness: all copies equal to the bit, and what one process makes of the same sets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tests.engines.live.recipes import RECIPES, replayed

WORKERS, TOTAL = 4, 40
SCRIPT = Path(__file__).parent / "scripts" / "late_at_random.py"
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("live")
    command = [
        sys.executable,
        "-m",
        "tailcut.cli",
        "launch",
        "-n",
        str(WORKERS),
        str(SCRIPT),
        str(out),
        str(TOTAL),
    ]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    return out


def states(folder: Path, name: str) -> list[dict[str, torch.Tensor]]:
    return [torch.load(folder / f"{name}.{worker}.pt") for worker in range(WORKERS)]


def accepted(folder: Path, name: str) -> dict[int, list[int]]:
    """Every round, as those who were in it tell; they must agree."""
    found: dict[int, list[int]] = {}
    for worker in range(WORKERS):
        for version, members in json.loads((folder / f"{name}.{worker}.json").read_text()).items():
            assert worker in members
            assert found.setdefault(int(version), members) == members
    return found


@pytest.mark.parametrize("name", RECIPES)
def test_all_replicas_are_equal_to_the_bit(trained: Path, name: str) -> None:
    first, *others = states(trained, name)
    for other in others:
        for key, value in first.items():
            if value.is_floating_point():
                assert torch.equal(value, other[key]), key


@pytest.mark.parametrize("name", RECIPES)
def test_one_process_makes_the_same_of_the_accepted_sets(trained: Path, name: str) -> None:
    rounds = accepted(trained, name)
    assert sorted(rounds) == list(range(TOTAL))
    assert {len(members) for members in rounds.values()} <= {3, 4}
    assert any(len(members) == 3 for members in rounds.values())
    expected = replayed(RECIPES[name], rounds, WORKERS)
    for key, value in states(trained, name)[0].items():
        if value.is_floating_point():
            torch.testing.assert_close(value, expected[key], rtol=1e-4, atol=1e-5)
