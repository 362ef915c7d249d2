"""The example for one's own step times runs as its docstring says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tailcut.traces import read_table
from waiting import limit

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_trace.py"


def run(*arguments: str) -> list[str]:
    command = [sys.executable, str(EXAMPLE), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=limit(100))
    assert not done.stderr
    return done.stdout.splitlines()


def test_it_writes_a_table_and_prints_one_line_per_policy_and_bound(tmp_path: Path) -> None:
    file = tmp_path / "steps.csv"
    first, *rows = run(str(file))
    assert first.startswith("12 workers, 150 rounds")
    rate = {row.split()[0]: float(row.split()[1]) for row in rows}
    assert list(rate)[:3] == ["wait-all", "backup:b=1", "stopping"]
    assert rate["clairvoyant"] >= rate["stopping"] > rate["wait-all"]
    table = read_table(file)
    assert (table.rounds, table.workers, table.names[0]) == (150, 12, "rank0")


def test_without_a_file_name_nothing_is_left_behind() -> None:
    assert run()[0].startswith("12 workers")
