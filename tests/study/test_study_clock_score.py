"""The clock score against closed forms, and comparisons in which states move by the clock."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tailcut.engines.simulated import Run, closing_at, first_arrivals, replay
from tailcut.errors import ParameterError
from tailcut.forecast import NoForecast
from tailcut.names import entrant, source
from tailcut.policy import Policy
from tailcut.rules import Backup
from tailcut.study.clock_score import BLOCK, Blocks
from tailcut.study.compare import BOUNDS, Setting, bounds_of, compare
from tailcut.study.facts import PolicyFacts, Spread
from tailcut.study.source import Recorded, Sampled
from tailcut.table import Table

ROUNDS, SLOW = 8 * BLOCK, 10.0
IS_SLOW = np.arange(ROUNDS) // BLOCK % 2 == 1
TWO = Table.dense(np.tile([1.0, 2.0], (ROUNDS, 1)) * np.where(IS_SLOW, SLOW, 1.0)[:, None])
"""Workers that take 1 and 2 s, ten times as long in every other block; two gradients cost twice as much as one."""


def blocks(table: Table, skip: int = 0, overhead: float = 0.0) -> Blocks:
    return Blocks.of(table, first_arrivals(table, table.workers, overhead), overhead, False, skip)


def test_rushing_through_slow_rounds_pays_on_the_table_and_not_by_the_clock() -> None:
    rush = closing_at(TWO, np.where(IS_SLOW, 10.0, 2.0))
    assert rush.throughput() == pytest.approx(3 / 12)
    assert first_arrivals(TWO, 1).throughput() == first_arrivals(TWO, 2).throughput() == pytest.approx(2 / 11)
    by_clock = blocks(TWO)
    assert by_clock.starts.tolist() == list(range(0, ROUNDS, BLOCK))
    # Waiting for all takes 25 times 2 s in a fast block, 25 times 20 s in a slow one.
    assert by_clock.seconds[:2].tolist() == [50.0, 500.0]
    assert by_clock.best[:2].tolist() == [1.0, 0.1]
    for run in (rush, first_arrivals(TWO, 1), first_arrivals(TWO, 2)):
        assert by_clock.score(run) == pytest.approx(1.0)


def test_a_block_counts_for_the_seconds_that_waiting_takes_whatever_the_policy_takes() -> None:
    # Two workers that take 1 and 3 s; in slow rounds 10 and 10 s: one gradient per second, or two in 10 s.
    seconds = np.where(IS_SLOW[:, None], [10.0, 10.0], [1.0, 3.0])
    first = first_arrivals(Table.dense(seconds), 1)
    waiting = first_arrivals(Table.dense(seconds), 2)
    by_clock = blocks(Table.dense(seconds))
    assert by_clock.score(first) == pytest.approx(1.0)
    # 75 s of fast rounds at 2/3, and 250 s of slow ones at 1/5.
    assert by_clock.score(waiting) == pytest.approx((75 * 2 / 3 + 250 / 5) / (75 * 1 + 250 / 5))


def test_overhead_counts_and_the_last_block_takes_what_is_left() -> None:
    table = Table.dense(TWO.seconds[: 2 * BLOCK + 7])
    by_clock = blocks(table, skip=3, overhead=1.0)
    assert by_clock.starts.tolist() == [3, 3 + BLOCK]
    assert by_clock.score(first_arrivals(table, 2, 1.0)) <= 1.0
    assert by_clock.seconds.sum() == pytest.approx((first_arrivals(table, 2).elapsed[3:] + 1.0).sum())
    short = Table.dense(TWO.seconds[:5])
    assert blocks(short, skip=2).starts.tolist() == [2]


def test_a_run_that_ends_before_the_last_block_has_no_clock_score() -> None:
    short = Table.dense(TWO.seconds[:30])
    assert math.isnan(blocks(TWO).score(first_arrivals(short, 1)))


def test_late_work_that_is_finished_is_compared_with_cutoffs_that_finish_it() -> None:
    table = source("nodes16").draw(0, 60).table

    def cut(count: int) -> Run:
        return replay(table, Policy(NoForecast(), Backup(c=count)), late_finish=True)

    runs = [cut(count) for count in range(1, 17)]
    by_clock = Blocks.of(table, runs[-1], 0.0, True, 0)
    rates = np.array(
        [[run.values[a : a + 25].sum() / run.elapsed[a : a + 25].sum() for a in (0,)] for run in runs]
    )
    assert by_clock.best[0] == pytest.approx(rates.max(), rel=1e-9)
    assert max(by_clock.score(run) for run in runs) <= 1.0 + 1e-12


def by_name(spec: str, *policies: str, **setting: int) -> dict[str, PolicyFacts]:
    chosen = Setting(**{"seeds": 2, "rounds": 60, **setting})  # type: ignore[arg-type]
    return {one.policy: one for one in compare(source(spec), [entrant(p) for p in policies], chosen).policies}


def test_the_table_score_is_the_share_of_the_best_fixed_choice() -> None:
    facts = compare(Recorded("t", "", TWO), [entrant("wait-all"), entrant("backup:c=1")], Setting(warmup=0))
    found = {one.policy: one for one in facts.policies}
    # A deadline of 2 s waits for two when it is quick and takes the first when it is slow: it rushes, too.
    assert found["best-deadline"].throughput.mean == pytest.approx(3 / 12)
    for name, score in (
        ("wait-all", 8 / 11),
        ("backup:c=1", 8 / 11),
        ("best-deadline", 1),
        ("clairvoyant-whole", 1),
    ):
        table_score, clock_score = found[name].table_score, found[name].clock_score
        assert table_score == Spread(*[pytest.approx(score)] * 3)
        assert clock_score == Spread(*[pytest.approx(1.0)] * 3)


def test_where_no_state_moves_both_modes_are_the_same_comparison() -> None:
    specs = ("wait-all", "backup:b=2", "stopping")
    rounds, clock = by_name("demo8", *specs), by_name("demo8:states=clock", *specs)
    for name in (*specs, "clairvoyant", "best-static"):
        assert clock[name].throughput.mean == pytest.approx(rounds[name].throughput.mean, rel=1e-12)
        assert clock[name].idle == pytest.approx(rounds[name].idle, rel=1e-12)
        assert clock[name].deciles == rounds[name].deciles
    assert clock["best-deadline"].throughput.mean == pytest.approx(
        rounds["best-deadline"].throughput.mean, rel=0.02
    )


def test_by_the_clock_there_is_one_score_and_the_bounds_of_that_mode() -> None:
    moving = source("nodes16:states=clock")
    assert bounds_of(moving) == ("clairvoyant", "best-static", "best-deadline")
    found = by_name("nodes16:states=clock", "wait-all", "async")
    assert list(found) == ["wait-all", "async", *bounds_of(moving)]
    for one in found.values():
        assert one.table_score is None
        assert one.of_informed is None
        assert one.clock_score is not None
    assert max(found[name].clock_score.least for name in bounds_of(moving)[1:]) <= 1.0  # type: ignore[union-attr]
    assert bounds_of(source("nodes16")) == BOUNDS


def test_all_policies_meet_the_same_states_at_the_same_seconds() -> None:
    one, other = (source("persistent:states=clock").draw_by_clock(3, 40).timeline for _ in range(2))
    assert one is not None
    assert other is not None
    for now in (0.0, 3.7, 11.0, 400.0):
        assert one.at(5, now)[0].tobytes() == other.at(5, now)[0].tobytes()


def test_what_is_no_table_is_refused_where_a_table_is_needed() -> None:
    moving = source("nodes16:states=clock")
    assert isinstance(moving, Sampled)
    with pytest.raises(
        ParameterError, match=r"nodes16:states=clock depend on when work begins, so they make no table"
    ):
        moving.draw(0, 20)
    with pytest.raises(ParameterError, match="is a table, whose states go by rounds"):
        Recorded("t.csv", "", TWO).draw_by_clock(0, None)
    with pytest.raises(ParameterError, match="must be rounds or clock, but got 'sideways'"):
        source("demo8:states=sideways")
    with pytest.raises(ParameterError, match="states is given twice"):
        source("demo8:states=clock:states=rounds")
