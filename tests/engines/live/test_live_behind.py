"""Real processes: one is late by more updates than any worker keeps, and takes part again all the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from live_processes import SCRIPTS

from tailcut.engines.live.launch import launch

WORKERS, FAR, TOTAL = 3, 10, 160


def test_who_is_late_by_more_than_is_kept_copies_the_state(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lines: list[str] = []
    code = launch([str(SCRIPTS / "behind.py"), str(tmp_path)], WORKERS, tell=lines.append)
    assert code == 0, (lines, capfd.readouterr().err)
    told = [json.loads((tmp_path / f"{worker}.json").read_text()) for worker in range(WORKERS)]
    assert told[0]["numbers"] == told[1]["numbers"] == told[2]["numbers"]
    (away,) = [step for step in told[1]["seen"] if step[0] < FAR <= step[1]]
    assert away[2] is False
    after = [step for step in told[1]["seen"] if step[0] >= away[1]]
    assert any(accepted for _, _, accepted, _ in after), "it takes part again"
    assert after[-1][1] == TOTAL
    for one in told:
        assert all(accepted == used for _, _, accepted, used in one["seen"])
    assert "are kept no longer" in capfd.readouterr().err + "".join(lines)
