"""Running figures and the report on stragglers, against what is known of the run times."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.engines.live.hub_scripts import Fleet
from tests.engines.records.recorded import hub_of

from tailcut.engines.records.files import RunFolder
from tailcut.engines.records.listener import Listener, Several
from tailcut.engines.records.stragglers import WorkerFacts, report
from tailcut.engines.records.straggling import Straggling
from tailcut.engines.records.tally import Tally
from tailcut.events import Settle
from tailcut.table import Table
from tailcut.types import Fate, RoundRecord


class Told(Listener):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.rounds: list[RoundRecord] = []
        self.settles: list[Settle] = []
        self.tally = Tally()

    def round(self, record: RoundRecord) -> None:
        self.rounds.append(record)
        self.tally.take(record)

    def settled(self, settle: Settle) -> None:
        self.settles.append(settle)
        self.tally.settle(settle)

    def look(self, hub: object, now: float) -> None: ...
    def end(self, hub: object, now: float) -> None: ...
    def give_up(self) -> None: ...


def told(table: Table, policy: str, late: str, overhead: float = 0.0) -> Told:
    listener = Told()
    Fleet(hub_of(table, policy, late, listener), table, overhead).run(table.rounds)
    return listener


@pytest.mark.parametrize("policy", ["wait-all", "backup:c=4", "backup:c=2"])
def test_saved_is_what_waiting_for_all_would_have_added(policy: str) -> None:
    seconds = np.random.default_rng(5).lognormal(sigma=0.7, size=(200, 5))
    found = told(Table.dense(seconds), policy, "finish")
    began = np.array([record.fates != Fate.UNSTARTED for record in found.rounds])
    elapsed = np.array([record.elapsed for record in found.rounds])
    # A worker that still computes when the record ends has not reported yet.
    pending = np.array([record.fates == Fate.PENDING for record in found.rounds])
    for settle in found.settles:
        pending[settle.version, settle.worker] = False
    longest = np.where(began & ~pending, seconds, 0.0).max(axis=1)
    assert found.tally.saved == pytest.approx(np.maximum(longest - elapsed, 0.0).sum())
    assert found.tally.unknown == pending.any(axis=1).sum()
    assert (found.tally.saved > 1e-6) == (policy != "wait-all")


def test_what_abandoned_work_would_have_taken_is_not_known() -> None:
    tally = told(Table.dense(np.array([[1.0, 9.0], [1.0, 1.0]])), "backup:c=1", "abandon").tally
    assert (tally.saved, tally.unknown) == (0.0, 2)


def test_a_worker_that_left_keeps_its_round_unknown() -> None:
    table = Table.dense(np.array([[1.0, 9.0, 7.0]] * 3))
    found = told(table, "backup:c=1", "finish")
    assert found.tally.unknown == 1
    found.tally.settle(Settle(1, 0, Fate.LOST, 5.0))
    assert (found.tally.unknown, found.tally.saved) == (1, 4.0)
    found.tally.settle(Settle(2, 0, Fate.LATE, 7.0))
    assert (found.tally.unknown, found.tally.saved) == (1, 6.0)


def test_rates_are_of_the_last_rounds() -> None:
    seconds = np.ones((100, 3))
    seconds[:50] = 5.0
    tally = told(Table.dense(seconds), "wait-all", "finish", overhead=0.5).tally
    assert tally.seconds_per_round == pytest.approx(1.5, rel=1e-3)
    assert tally.gradients_per_second == pytest.approx(2.0, rel=1e-3)
    assert tally.cutoffs == (3,) * 50
    assert {worker: (one.rounds, one.accepted) for worker, one in tally.shares.items()} == dict.fromkeys(
        range(3), (100, 100)
    )


def straggling(table: Table, policy: str, late: str, tmp_path: Path) -> tuple[list[str], list[WorkerFacts]]:
    lines: list[str] = []
    listener = Several([Straggling(RunFolder(tmp_path), table.workers, lines.append)])
    hub = hub_of(table, policy, late, listener)
    fleet = Fleet(hub, table)
    fleet.run(table.rounds)
    listener.end(hub, fleet.now)
    written = json.loads((tmp_path / "stragglers.json").read_text())
    assert written["rounds"] == table.rounds
    return lines, [WorkerFacts(**worker) for worker in written["workers"]]


def uneven(rounds: int = 300) -> Table:
    """Worker 3 takes three times as long as the others, worker 5 nine times as long in every tenth round."""
    seconds = np.random.default_rng(6).uniform(0.95, 1.05, size=(rounds, 8))
    seconds[:, 3] *= 3.0
    seconds[::10, 5] *= 9.0
    return Table.dense(seconds)


def test_who_is_always_slow_and_who_now_and_then(tmp_path: Path) -> None:
    lines, facts = straggling(uneven(), "wait-all", "finish", tmp_path)
    paces = {one.worker: one.pace for one in facts}
    assert paces == dict.fromkeys(range(8), "steady") | {3: "persistent", 5: "now and then"}
    assert facts[3].slowness == pytest.approx(3.0, rel=0.02)
    assert facts[3].score == 0.0
    assert max(one.score or 0.0 for one in facts) == 1.0
    assert facts[5].slow == pytest.approx(0.1)
    assert facts[5].slow_times == pytest.approx(9.0, rel=0.05)
    assert [one.accepted for one in facts] == [1.0] * 8
    assert len(lines) == 3
    assert lines[1].startswith("Slow all the time: worker 3 (3.0 × the median, accepted in 100%")
    assert lines[2].startswith("Slow now and then: worker 5 (10% of its run times, then 9.")


def test_late_run_times_count_when_they_have_come(tmp_path: Path) -> None:
    _, facts = straggling(uneven(), "backup:b=1", "finish", tmp_path)
    assert facts[3].pace == "persistent"
    assert facts[3].slowness == pytest.approx(3.0, rel=0.05)
    assert facts[3].accepted < 0.5


def test_who_is_always_cut_is_named_with_what_is_known(tmp_path: Path) -> None:
    lines, facts = straggling(uneven(), "backup:b=2", "abandon", tmp_path)
    assert facts[3].at_least
    assert facts[3].pace == "unknown"
    assert any(line.startswith("Always cut before it could be said how slow: worker 3") for line in lines)


def test_workers_that_are_alike_all_have_the_best_score(tmp_path: Path) -> None:
    lines, facts = straggling(Table.dense(np.ones((20, 4))), "wait-all", "finish", tmp_path)
    assert [one.score for one in facts] == [1.0] * 4
    assert lines[-1] == "Nobody was slow for long or often."


def test_the_report_is_short_however_many_are_slow(tmp_path: Path) -> None:
    seconds = np.random.default_rng(7).lognormal(sigma=1.0, size=(50, 60)) * np.linspace(1.0, 9.0, 60)
    lines, _ = straggling(Table.dense(seconds), "backup:b=20", "abandon", tmp_path)
    assert 2 <= len(lines) <= 6
    assert max(map(len, lines)) < 400
    assert report((), 0) == []


def test_a_run_without_rounds_has_nothing_to_tell(tmp_path: Path) -> None:
    lines: list[str] = []
    table = Table.dense(np.ones((1, 2)))
    listener = Straggling(RunFolder(tmp_path), 2, lines.append)
    listener.end(hub_of(table, "wait-all", "finish", listener), 0.0)
    assert lines == []
