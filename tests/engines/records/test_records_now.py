"""The contents of `now.json`: nothing in it contradicts itself or the run that it belongs to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tailcut.engines.records.now import Now, WorkerNow, read_now
from tailcut.errors import InputError

WORKER = WorkerNow(
    worker=1, host="here", process=7, doing="computes", version=3, seconds=0.5, rounds=4, accepted=2
)
SOUND = Now(
    written=1e9,
    running=5.0,
    version=3,
    rounds=3,
    cutoffs=(2, 1, 2),
    seconds_per_round=0.5,
    gradients_per_second=3.0,
    saved=1.0,
    unknown=0,
    over=False,
    why=None,
    workers=(WORKER,),
)


def read_back(now: Now, tmp_path: Path, workers: int = 2) -> Now | None:
    file = tmp_path / "now.json"
    file.write_text(now.as_json())
    return read_now(file, workers)


def test_what_was_written_reads_back(tmp_path: Path) -> None:
    assert read_back(SOUND, tmp_path) == SOUND


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"worker": 2}, "worker 2 is none of the run's 2 workers"),
        ({"doing": "dances"}, "a worker does one of starts, computes, .* but not 'dances'"),
        ({"doing": "{:>9999999999}"}, "but not '{:>9999999999}'"),
        ({"accepted": 5}, "worker 1 was accepted in 5 of 4 rounds"),
        ({"seconds": -1.0}, "a time or a count must be 0 or more, but is -1.0"),
    ],
)
def test_a_worker_that_cannot_be(changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"now\.json is damaged \(.*{said}"):
        read_back(replace(SOUND, workers=(replace(WORKER, **changes),)), tmp_path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"version": -5}, "a time or a count must be 0 or more, but is -5"),
        ({"cutoffs": (2, -1)}, "a time or a count must be 0 or more, but is -1"),
        ({"saved": 1e300}, "a time must be at most"),
        ({"workers": (WORKER, WORKER)}, "a worker is there twice"),
    ],
)
def test_a_run_that_cannot_be(changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"now\.json is damaged \({said}"):
        read_back(replace(SOUND, **changes), tmp_path)
