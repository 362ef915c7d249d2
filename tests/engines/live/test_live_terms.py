"""Real processes: the controller is killed three times and worker 0 once, and nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from live_processes import SCRIPTS
from tests.engines.live.scripts.terms import KILLS, TOTAL

from tailcut.engines.live.launch import launch
from tailcut.engines.records.read import read_run

WORKERS = 3


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str], list[dict[int, Any]]]:
    """The folder, what was printed, and what each worker had after each version."""
    out, lines = tmp_path_factory.mktemp("terms"), list[str]()
    code = launch([str(SCRIPTS / "terms.py"), str(out)], WORKERS, restarts=1, tell=lines.append)
    assert code == 0, lines
    found = []
    for worker in range(WORKERS):
        told = [json.loads(line) for line in Path(out, f"{worker}.jsonl").read_text().splitlines()]
        found.append({version: rest for version, *rest in told})
    return out, lines, found


def test_every_controller_that_is_killed_has_a_successor(
    seen: tuple[Path, list[str], list[dict[int, Any]]],
) -> None:
    terms = [line.rpartition("term ")[2] for line in seen[1] if "Its place is taken" in line]
    assert terms == [f"{term}." for term in range(2, 2 + len(KILLS))]


def test_worker_0_comes_back_like_any_other(seen: tuple[Path, list[str], list[dict[int, Any]]]) -> None:
    assert int((seen[0] / "back").read_text()) > 0
    assert max(seen[2][0]) == TOTAL


def test_all_have_the_same_nets_at_the_same_versions(
    seen: tuple[Path, list[str], list[dict[int, Any]]],
) -> None:
    versions = sorted(set[int]().union(*seen[2]))
    assert versions[-1] == TOTAL
    for version in versions:
        told = [each[version] for each in seen[2] if version in each]
        assert all(other == told[0] for other in told), version


def test_the_record_goes_on_too(seen: tuple[Path, list[str], list[dict[int, Any]]]) -> None:
    run = read_run(seen[0] / "run")
    versions = [one.version for one in run.rounds]
    assert versions == sorted(set(versions))
    # A round that closed just before its controller was killed may be missing in the record.
    assert len(versions) >= TOTAL - len(KILLS) - 1
    assert run.ending is not None
    assert run.ending.why is None
