"""A recorded run against the run-time table it was made from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.engines.records.recorded import record

from tailcut import names
from tailcut.engines.records.read import read_run
from tailcut.engines.records.replayable import Replayable, replayable
from tailcut.errors import InputError
from tailcut.report import as_json
from tailcut.study.compare import Setting, compare
from tailcut.study.facts import Comparison
from tailcut.study.source import Recorded, Source
from tailcut.table import Table

NODES = np.array([0, 0, 1, 1])
POLICIES = ("wait-all", "backup:b=1", "stopping", "deadline:seconds=1.1")


def drawn(rounds: int = 60, seed: int = 0) -> Table:
    """Return run times within a factor of two: a late worker is back before the next round closes."""
    seconds = np.random.default_rng(seed).uniform(0.8, 1.3, size=(rounds, 4))
    return Table.dense(seconds, NODES)


def played(folder: Path) -> Replayable:
    return replayable(read_run(folder))


def facts(source: Source, setting: Setting) -> list[dict[str, Any]]:
    entrants = [names.entrant(policy) for policy in POLICIES]
    rows = as_json(Comparison("", (compare(source, entrants, setting),)))
    # Decision times are measured, and the sources have different names.
    unlike = ("source", "decision_ms_p50", "decision_ms_p99", "round_ms")
    return [{key: value for key, value in row.items() if key not in unlike} for row in rows]


@pytest.mark.parametrize("late", ["finish", "abandon"])
def test_a_run_that_waited_for_all_compares_as_its_table(tmp_path: Path, late: str) -> None:
    table = drawn()
    folder = record(tmp_path / "run", table, "wait-all", late, overhead=0.07)
    itself = Recorded("table", "", table, overhead=0.07, late_finish=late == "finish")
    found = facts(names.source(str(folder)), Setting())
    assert found == facts(itself, Setting())
    assert {(row["late"], row["overhead"]) for row in found} == {(late, 0.07)}


def test_what_is_said_goes_before_what_was_recorded(tmp_path: Path) -> None:
    folder = record(tmp_path / "run", drawn(), "wait-all", "finish", overhead=0.07)
    rows = facts(names.source(str(folder)), Setting(late_finish=False, overhead=0.5))
    assert {(row["late"], row["overhead"]) for row in rows} == {("abandon", 0.5)}


def test_late_run_times_are_those_that_came_later(tmp_path: Path) -> None:
    table = drawn()
    found = played(record(tmp_path / "run", table, "backup:b=1", "finish", overhead=0.05)).table
    # The last round's late worker never came to an end.
    assert found.rounds == table.rounds
    np.testing.assert_array_equal(found.seconds[:-1], table.seconds[:-1])
    assert found.observed[:-1].all()
    assert found.observed[-1].sum() == 3
    assert found.names == (0, 1, 2, 3)
    np.testing.assert_array_equal(found.nodes, NODES)


def test_abandoned_work_is_censored_at_the_close(tmp_path: Path) -> None:
    seconds = np.array([[1.0, 2.0, 5.0], [1.0, 7.0, 2.0]])
    run = read_run(record(tmp_path / "run", Table.dense(seconds), "backup:b=1", "abandon"))
    found = replayable(run).table
    np.testing.assert_array_equal(found.seconds, [[1.0, 2.0, 2.0], [1.0, 2.0, 2.0]])
    np.testing.assert_array_equal(found.observed, [[True, True, False], [True, False, True]])


def test_rounds_that_a_busy_worker_never_began_on_leave_no_holes(tmp_path: Path) -> None:
    # Worker 2 is done in mid-round, at 2.5, 5.02, 7.57 and 10.14 s, and begins on the round that is open then.
    seconds = np.tile([1.0, 1.0, 2.5], (12, 1)) + 0.01 * np.arange(12)[:, None] * [0, 0, 1]
    found = played(record(tmp_path / "run", Table.dense(seconds), "backup:b=1", "finish"))
    began = [0, 2, 5, 7, 10]
    assert (found.closed, found.table.rounds, found.shortest) == (12, len(began), 2)
    np.testing.assert_array_equal(found.table.observed[:, 2], [True] * 4 + [False])
    np.testing.assert_array_equal(found.table.seconds[:4, 2], seconds[began[:4], 2])
    np.testing.assert_array_equal(found.table.seconds[:, :2], 1.0)
    about = names.source(str(tmp_path / "run")).about
    assert "12 rounds" in about
    assert "5 of them can be replayed, as many as worker 2 began on" in about


def test_a_worker_that_never_comes_back_is_gone_and_the_rest_is_kept(tmp_path: Path) -> None:
    seconds = np.ones((10, 3))
    seconds[4, 1] = 1e6
    found = played(record(tmp_path / "run", Table.dense(seconds), "backup:b=1", "finish"))
    assert (found.table.rounds, found.shortest) == (10, None)
    assert found.table.observed[:4, 1].all()
    assert not found.table.observed[4:, 1].any()
    # Five rounds of a second have passed since, and those after it know nothing of the worker.
    assert found.table.seconds[4, 1] == pytest.approx(6.0)
    assert np.isnan(found.table.seconds[5:, 1]).all()


def test_a_run_without_rounds_is_refused(tmp_path: Path) -> None:
    folder = record(tmp_path / "run", Table.dense(np.full((1, 2), 1.0)), "wait-all")
    (folder / "rounds.jsonl").write_text("")
    with pytest.raises(InputError, match="without a single closed round"):
        names.source(str(folder))
