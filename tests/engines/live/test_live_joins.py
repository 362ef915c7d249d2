"""Real processes: one is killed and started again, takes part as if it had never been away, and so do the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from live_processes import SCRIPTS
from tests.engines.live.scripts.joins import DIES_AT, TOTAL

from tailcut.engines.live.launch import launch

WORKERS = 3


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> list[dict[int, Any]]:
    """The members, the learning rate and the parameters that each worker had after each version."""
    out, lines = tmp_path_factory.mktemp("joins"), list[str]()
    code = launch([str(SCRIPTS / "joins.py"), str(out)], WORKERS, restarts=1, tell=lines.append)
    assert code == 0, lines
    assert int((out / "back").read_text()) > 0, "it comes back where the others are"
    found = []
    for worker in range(WORKERS):
        told = [json.loads(line) for line in Path(out, f"{worker}.jsonl").read_text().splitlines()]
        found.append({version: rest for version, *rest in told})
    return found


def test_it_is_away_for_a_while_and_then_takes_part(seen: list[dict[int, Any]]) -> None:
    members = [seen[0][version][0] for version in sorted(seen[0])]
    assert members[0] == [0, 1, 2]
    assert [0, 2] in members
    assert members[-1] == [0, 1, 2]
    away = [members.index([0, 2]), len(members) - 1 - members[::-1].index([0, 2])]
    assert all(each == [0, 2] for each in members[away[0] : away[1] + 1])


def test_with_fewer_than_min_workers_nothing_is_made_until_it_is_back(tmp_path: Path) -> None:
    lines: list[str] = []
    code = launch([str(SCRIPTS / "joins.py"), str(tmp_path), "2"], 2, restarts=1, tell=lines.append)
    assert code == 0, lines
    assert any("The run waits until 2 workers are there (min_workers), and has 1." in line for line in lines)
    assert (tmp_path / "back").read_text() == str(DIES_AT)
    told = [json.loads(line) for line in (tmp_path / "0.jsonl").read_text().splitlines()]
    assert [(version, members) for version, members, *_ in told] == [
        (version, [0, 1]) for version in range(1, TOTAL + 1)
    ]


def test_all_have_the_same_nets_rates_and_histories(seen: list[dict[int, Any]]) -> None:
    for version, told in seen[0].items():
        for other in seen[1:]:
            assert other.get(version, told) == told
    assert max(seen[1]) == max(seen[0]), "they end together"
