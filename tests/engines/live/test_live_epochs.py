"""Loops over epochs in real processes: all workers meet at the end of each, whoever was late."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import torch
from live_processes import SCRIPTS
from tests.engines.live.scripts.epochs import STOPS_AT, UPDATES

from tailcut.engines.live.checkpoints import newest
from tailcut.engines.live.launch import launch

WORKERS, NEVER = 2, 10_000
DIES_AT = 3 * UPDATES + 5
"""Version at which the run is killed, in the midst of an epoch."""


def run(out: Path, policy: str, dies_at: int = NEVER) -> tuple[int, list[str]]:
    out.mkdir(exist_ok=True)
    lines: list[str] = []
    code = launch([str(SCRIPTS / "epochs.py"), str(out), policy, str(dies_at)], WORKERS, tell=lines.append)
    return code, lines


def told(out: Path) -> list[dict[str, Any]]:
    return [json.loads((out / f"{worker}.json").read_text()) for worker in range(WORKERS)]


def test_late_workers_meet_at_the_end_of_every_epoch_and_stop_together(tmp_path: Path) -> None:
    code, lines = run(tmp_path, "backup:c=1")
    assert code == 0, lines
    one, other = told(tmp_path)
    assert [each["epoch"] for each in one["seen"]] == list(range(STOPS_AT + 1))
    for mine, others in zip(one["seen"], other["seen"], strict=True):
        assert mine["version"] == others["version"] == UPDATES * (mine["epoch"] + 1)
        assert mine["same"]
        assert others["same"]
        assert mine["decided"] == others["decided"]
    computed = [sum(each["computed"] for each in worker["seen"]) for worker in (one, other)]
    assert min(computed) < UPDATES * (STOPS_AT + 1), "somebody was late"
    assert one["numbers"] == other["numbers"]
    best = torch.load(tmp_path / "best.pt")
    assert best["epoch"] == 3


def test_killed_within_an_epoch_it_goes_on_there_and_ends_with_the_same_numbers(tmp_path: Path) -> None:
    assert run(tmp_path / "undisturbed", "wait-all")[0] == 0
    code, _ = run(tmp_path / "killed", "wait-all", DIES_AT)
    assert code == -signal.SIGKILL
    found = newest(tmp_path / "killed" / "kept", print)
    assert found is not None
    code, lines = run(tmp_path / "killed", "wait-all")
    assert code == 0, lines
    for one, other in zip(told(tmp_path / "killed"), told(tmp_path / "undisturbed"), strict=True):
        assert one["first"] == found.version
        entered = one["seen"][0]
        assert (entered["epoch"], entered["computed"]) == divmod_left(found.version)
        assert (one["version"], one["numbers"]) == (other["version"], other["numbers"])
        assert [each["epoch"] for each in one["seen"]] == list(range(entered["epoch"], STOPS_AT + 1))


def divmod_left(version: int) -> tuple[int, int]:
    """The epoch of a version, and the updates that are left of it."""
    return version // UPDATES, UPDATES - version % UPDATES
