"""All processes are killed; started again they go on from the newest checkpoint, as if nothing had happened."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from live_processes import SCRIPTS
from tests.engines.live.scripts.resumes import EVERY, SLOWER, TOTAL

from tailcut.engines.live.checkpoints import newest
from tailcut.engines.live.launch import launch

WORKERS, NEVER, DIES_AT = 2, 10_000, 21


def run(out: Path, dies_at: int, *more: str, restarts: int = 0) -> tuple[int, list[str]]:
    out.mkdir(exist_ok=True)
    lines: list[str] = []
    script = [str(SCRIPTS / "resumes.py"), str(out), str(dies_at), *more]
    return launch(script, WORKERS, restarts=restarts, tell=lines.append), lines


def told(out: Path) -> list[dict[str, Any]]:
    return [json.loads((out / f"{worker}.json").read_text()) for worker in range(WORKERS)]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed")
    code, lines = run(out, NEVER)
    assert code == 0, lines
    return out


def test_the_last_version_is_kept_too(undisturbed: Path) -> None:
    complaints: list[str] = []
    found = newest(undisturbed / "kept", complaints.append)
    assert found is not None
    assert (found.version, complaints) == (TOTAL, [])
    assert len(list((undisturbed / "kept").glob("v*"))) == 2


def test_killed_and_started_again_it_ends_with_the_same_numbers(undisturbed: Path, tmp_path: Path) -> None:
    code, _ = run(tmp_path / "killed", DIES_AT)
    assert code == -signal.SIGKILL
    found = newest(tmp_path / "killed" / "kept", print)
    assert found is not None
    assert found.version in range(EVERY, DIES_AT, EVERY)
    code, lines = run(tmp_path / "killed", NEVER)
    assert code == 0, lines
    assert [each["first"] for each in told(tmp_path / "killed")] == [found.version] * WORKERS
    for one, other in zip(told(tmp_path / "killed"), told(undisturbed), strict=True):
        assert (one["version"], one["position"]) == (TOTAL, TOTAL)
        assert one["numbers"] == other["numbers"]


def test_with_restarts_a_run_whose_workers_are_all_killed_returns_to_its_newest_checkpoint(
    undisturbed: Path, tmp_path: Path
) -> None:
    code, lines = run(tmp_path / "killed", DIES_AT, restarts=1)
    assert code == 0, lines
    assert any("The run returns to the newest checkpoint." in line for line in lines)
    [begun] = [line for line in lines if "The run continues from the checkpoint of version" in line]
    versions = [each["first"] for each in told(tmp_path / "killed")]
    assert versions == [int(begun.rstrip(".").split()[-1])] * WORKERS
    assert versions[0] in range(EVERY, DIES_AT, EVERY)
    for one, other in zip(told(tmp_path / "killed"), told(undisturbed), strict=True):
        assert (one["version"], one["position"], one["numbers"]) == (TOTAL, TOTAL, other["numbers"])


def test_who_cannot_see_the_checkpoints_copies_in_the_middle_of_a_schedule(
    undisturbed: Path, tmp_path: Path
) -> None:
    code, _ = run(tmp_path / "killed", DIES_AT, "apart")
    assert code == -signal.SIGKILL
    assert list((tmp_path / "killed").glob("kept by 1/v*")) == []
    found = newest(tmp_path / "killed" / "kept", print)
    assert found is not None
    assert found.version > SLOWER, "where learning rates are not those that the script begins with"
    code, lines = run(tmp_path / "killed", NEVER, "apart")
    assert code == 0, lines
    for one, other in zip(told(tmp_path / "killed"), told(undisturbed), strict=True):
        assert (one["version"], one["numbers"]) == (TOTAL, other["numbers"])


def test_a_finished_run_has_nothing_left_to_do(undisturbed: Path) -> None:
    before = told(undisturbed)
    code, lines = run(undisturbed, NEVER)
    assert code == 0, lines
    assert [each["first"] for each in told(undisturbed)] == [TOTAL] * WORKERS
    assert [each["numbers"] for each in told(undisturbed)] == [each["numbers"] for each in before]
