"""The test suite that every rule passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, final

import numpy as np
import pytest

from tailcut.engines.simulated import Run, first_arrivals, replay
from tailcut.forecast import Forecaster, NoForecast, Recent
from tailcut.policy import Policy, PolicyState
from tailcut.rules.base import Opening, Rule
from tailcut.table import Table
from tailcut.testing.histories import read_only, run_times, shown, table
from tailcut.types import (
    Close,
    Decision,
    Fate,
    IntArray,
    Progress,
    Roster,
    RoundRecord,
    RunTimes,
    Seconds,
    Wait,
    Weights,
)

ROUNDS, MICRO = 24, 8


def forecasters() -> tuple[Forecaster[Any], ...]:
    """Return a forecaster that never forecasts, and one that does."""
    return NoForecast(), Recent(window=5)


def checked(decision: Decision, progress: Progress) -> Decision:
    """Return a decision; fail an assertion if it waits for a moment or a count that has already passed."""
    assert isinstance(decision, Wait | Close)
    if isinstance(decision, Wait):
        assert decision.until is None or decision.until > progress.elapsed, "never wakes in the past"
        assert decision.count is None or decision.count > progress.count, "waits for what is still to come"
    return decision


@final
class Watched:
    """A policy that checks every answer of its rule, adds synthetic measurements, and keeps its states."""

    def __init__(self, policy: Policy) -> None:
        self._inner = policy
        self._roster: IntArray = np.empty(0, dtype=np.int64)
        self.states: list[PolicyState] = []

    @property
    def opens_with_plan(self) -> bool:
        """Return whether the policy opens rounds with its plan."""
        return self._inner.opens_with_plan

    def start(self) -> PolicyState:
        """Return the policy's first state."""
        return self._inner.start()

    def plan(self, state: PolicyState, roster: Roster, overhead: Seconds, late_finish: bool) -> Any:
        """Return the policy's plan; remember the roster for later checks."""
        self._roster = roster.workers
        return self._inner.plan(state, roster, overhead, late_finish)

    def decide(self, plan: Any, progress: Progress) -> Decision:
        """Return the policy's decision, checked."""
        return checked(self._inner.decide(plan, progress), progress)

    def learn(
        self, state: PolicyState, plan: Any, record: RoundRecord, reports: tuple[RunTimes, ...]
    ) -> PolicyState:
        """Return the policy's next state, and keep it."""
        record = replace(record, measured=shown(record))
        self.states.append(self._inner.learn(state, plan, record, reports))
        return self.states[-1]

    def weights(self, state: PolicyState) -> Weights:
        """Return the policy's weights, checked: they lie between 0 and 1."""
        weights = self._inner.weights(state)
        assert all(0.0 <= weight <= 1.0 for _, weight in weights)
        return weights

    def finishers(self, state: PolicyState, record: RoundRecord) -> IntArray:
        """Return the policy's finishers, checked: only workers that were cut may finish, each named once."""
        chosen = self._inner.finishers(state, record)
        cut = record.roster.workers[record.fates == Fate.ABANDONED]
        assert np.isin(chosen, cut).all()
        assert len(np.unique(chosen)) == len(chosen)
        return chosen

    def worker_deadline(self, plan: Any) -> Seconds | None:
        """Return the policy's deadline for workers, checked: None or positive, in seconds."""
        deadline = self._inner.worker_deadline(plan)
        assert deadline is None or deadline > 0.0
        return deadline

    def welcome_stale(self, plan: Any) -> IntArray:
        """Return the workers whose stale gradients are welcome, checked: all take part in the round."""
        welcome = self._inner.welcome_stale(plan)
        assert np.isin(welcome, self._roster).all()
        return welcome

    def worth_starting(self, plan: Any, position: int, elapsed: Seconds) -> bool:
        """Return whether a worker is worth starting, checked: its position is valid, the answer a bool."""
        assert 0 <= position < len(self._roster)
        worth = self._inner.worth_starting(plan, position, elapsed)
        assert isinstance(worth, bool)
        return worth


def run(rule: Rule[Any, Any], forecaster: Forecaster[Any], times: Table, late_finish: bool = False) -> Run:
    """Run the rule on a table of run times, with all its answers checked."""
    watched = Watched(Policy(forecaster, rule))
    return replay(times, watched, late_finish=late_finish, overhead=0.1, micro=MICRO)


def openings(n: int, seed: int) -> Iterator[Opening]:
    """Return openings of rounds of n workers: without a forecast, with one, and where late workers finish."""
    rng, workers = np.random.default_rng(seed), np.arange(n, dtype=np.int64)
    forecaster = Recent(window=5)
    belief = forecaster.start()
    for _ in range(3):
        belief = forecaster.learn(belief, run_times(workers, rng))
    yield Opening(Roster.of(n), None)
    yield Opening(Roster.of(n), forecaster.forecast(belief, Roster.of(n)), overhead=0.1)
    yield Opening(Roster.of(n), forecaster.forecast(belief, Roster.of(n)), overhead=0.1, late_finish=True)


def progresses(n: int, seed: int) -> Iterator[Progress]:
    """Return the progress of rounds, from no arrival to all but the first worker's; read-only."""
    rng = np.random.default_rng(seed)
    for elapsed in (0.0, 0.3, 1.0, 2.0, 9.0, 500.0):
        arrivals = rng.lognormal(0.0, 0.5, n)
        arrivals[arrivals > elapsed] = np.inf
        gone = (rng.random(n) < 0.2) & np.isinf(arrivals)
        # If all workers have arrived or are gone, the round is over, and no rule is asked.
        arrivals[0], gone[0] = np.inf, False
        read_only(arrivals)
        read_only(gone)
        yield Progress(elapsed, arrivals, gone, int(np.isfinite(arrivals).sum()))


class RuleSuite:
    """Tests of a rule, without forecasts and with those of recent run times. Override the fixture `rule`."""

    @pytest.fixture
    def rule(self) -> Rule[Any, Any]:
        """The rule under test."""
        raise NotImplementedError("Override the fixture `rule` to say which rule is tested.")

    @pytest.mark.parametrize("n", [1, 2, 7])
    def test_it_never_waits_for_what_has_been(self, rule: Rule[Any, Any], n: int) -> None:
        """The rule waits neither for a moment in the past nor for arrivals that are in."""
        for opening in openings(n, seed=n):
            plan = rule.plan(rule.start(), opening)
            for progress in progresses(n, seed=n):
                checked(rule.decide(plan, progress), progress)

    def test_deciding_is_a_pure_function(self, rule: Rule[Any, Any]) -> None:
        """The rule gives the same answers when it is asked twice, in another order."""
        for opening in openings(6, seed=1):
            plan = rule.plan(rule.start(), opening)
            asked = list(progresses(6, seed=1))
            first = [rule.decide(plan, progress) for progress in asked]
            assert [rule.decide(plan, progress) for progress in reversed(asked)] == first[::-1]

    @pytest.mark.parametrize("late_finish", [False, True])
    @pytest.mark.parametrize("holes", [False, True])
    @pytest.mark.parametrize("n", [1, 2, 6])
    def test_a_round_takes_between_one_and_all(
        self, rule: Rule[Any, Any], n: int, holes: bool, late_finish: bool
    ) -> None:
        """Each round accepts one gradient or more, for any number of workers, also if some fail or leave."""
        for forecaster in forecasters():
            times = table(ROUNDS, n, seed=n, holes=holes)
            simulated = run(rule, forecaster, times, late_finish)
            assert simulated.rounds == ROUNDS
            assert (simulated.counts >= 1).all()
            assert (simulated.counts <= simulated.present).all()

    @pytest.mark.parametrize("late_finish", [False, True])
    def test_relabelling_workers_relabels_the_result(self, rule: Rule[Any, Any], late_finish: bool) -> None:
        """Ids with gaps, in the same order, change nothing."""
        times = table(ROUNDS, 6, seed=2)
        n = 3 * times.workers + 1
        seconds = np.full((ROUNDS, n), np.nan)
        seconds[:, 1::3] = times.seconds
        spread = Table.dense(seconds)
        for forecaster in forecasters():
            one, other = (run(rule, forecaster, each, late_finish) for each in (times, spread))
            assert np.array_equal(other.accepted[:, 1::3], one.accepted)
            assert np.array_equal(other.elapsed, one.elapsed)

    @pytest.mark.parametrize("late_finish", [False, True])
    def test_a_state_is_a_snapshot(self, rule: Rule[Any, Any], late_finish: bool) -> None:
        """A state kept from an earlier round gives the same decisions each time it is used again."""
        times = table(ROUNDS, 6, seed=3)
        for forecaster in forecasters():
            policy = Policy(forecaster, rule)
            watched = Watched(policy)
            replay(times, watched, late_finish=late_finish, overhead=0.1, micro=MICRO)
            for state in watched.states[:: ROUNDS // 4]:
                opening = Roster.of(6)
                plans = [policy.plan(state, opening, 0.1, late_finish) for _ in range(2)]
                for progress in progresses(6, seed=3):
                    assert policy.decide(plans[0], progress) == policy.decide(plans[1], progress)
                assert policy.worker_deadline(plans[0]) == policy.worker_deadline(plans[1])
                assert policy.welcome_stale(plans[0]).tolist() == policy.welcome_stale(plans[1]).tolist()

    def test_the_same_run_times_give_the_same_run(self, rule: Rule[Any, Any]) -> None:
        """The rule has no clock and no randomness of its own."""
        times = table(ROUNDS, 6, seed=4)
        for forecaster in forecasters():
            one, other = (run(rule, forecaster, times) for _ in range(2))
            assert np.array_equal(one.accepted, other.accepted)
            assert np.array_equal(one.elapsed, other.elapsed)

    def test_a_fixed_cutoff_is_what_it_says(self, rule: Rule[Any, Any]) -> None:
        """A rule that names a fixed cutoff behaves like it, with any forecast."""
        for n in (1, 2, 6):
            count = rule.fixed_count(n)
            if count is None:
                continue
            assert 1 <= count <= n
            times = table(ROUNDS, n, seed=5)
            expected = first_arrivals(times, count, 0.1)
            for forecaster in forecasters():
                assert np.array_equal(run(rule, forecaster, times).accepted, expected.accepted)
