"""Real processes: the controller is killed when one worker has left with the last version, and the other lacks it."""

from __future__ import annotations

import json
from pathlib import Path

from live_processes import SCRIPTS
from tests.engines.live.scripts.ends import TOTAL

from tailcut.engines.live.launch import launch


def test_all_end_with_the_last_version_of_who_made_it(tmp_path: Path) -> None:
    lines: list[str] = []
    assert launch([str(SCRIPTS / "ends.py"), str(tmp_path)], 2, restarts=1, tell=lines.append) == 0, lines
    assert any("Its place is taken, in term 2." in line for line in lines), lines
    first, second = (json.loads((tmp_path / f"{worker}.json").read_text()) for worker in range(2))
    assert first == second
    assert first[0] == TOTAL
    assert [file.name for file in (tmp_path / "kept").glob("v*")] == [f"v{TOTAL:08}.safetensors"]
