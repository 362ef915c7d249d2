"""The suites fail for objects that break the rules."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from tailcut.clusters.base import Cluster, Sample
from tailcut.forecast import Forecaster, Recent
from tailcut.rules import Backup, Opening, Rule
from tailcut.table import Table
from tailcut.testing import ClusterSuite, ForecasterSuite, RuleSuite, check_forecast
from tailcut.types import (
    Close,
    Decision,
    FloatArray,
    Forecast,
    IntArray,
    Progress,
    Roster,
    RoundRecord,
    RunTimes,
    Wait,
)

pytest_plugins = ["pytester"]


@dataclass(frozen=True)
class Bad(Rule[Any, Any]):
    """A rule as good as any, but for what is replaced."""

    decision: Callable[[Progress], Decision] = lambda p: Close() if p.count else Wait(count=1)
    chosen: Callable[[RoundRecord], list[int]] = lambda _: []
    fixed: int | None = None

    def start(self) -> None:
        pass

    def plan(self, memory: None, opening: Opening) -> IntArray:
        return opening.roster.workers

    def decide(self, plan: IntArray, progress: Progress) -> Decision:
        return self.decision(progress)

    def finishers(self, memory: None, record: RoundRecord) -> IntArray:
        return np.array(self.chosen(record), dtype=np.int64)

    def fixed_count(self, n: int) -> int | None:
        return self.fixed


@dataclass(frozen=True)
class ByName(Bad):
    """Waits for the worker with the highest id, as long as that is under 10."""

    def decide(self, plan: IntArray, progress: Progress) -> Decision:
        late = np.isinf(progress.arrivals[-1]) and plan[-1] < 10 and not progress.gone[-1]
        return Wait(count=progress.count + 1) if late or not progress.count else Close()


@dataclass(frozen=True)
class Forgetful(Bad):
    """Keeps what it saw in itself."""

    seen: list[float] = field(default_factory=list)

    def decide(self, plan: IntArray, progress: Progress) -> Decision:
        self.seen.append(progress.elapsed)
        return Wait(count=progress.count + 1 + len(self.seen) % 2)


def test_the_rule_these_are_made_from_passes() -> None:
    suite = RuleSuite()
    for n in (1, 2, 7):
        suite.test_it_never_waits_for_what_has_been(Bad(), n)
    suite.test_deciding_is_a_pure_function(Bad())
    suite.test_relabelling_workers_relabels_the_result(Bad(), late_finish=False)
    suite.test_a_round_takes_between_one_and_all(Bad(), 6, holes=True, late_finish=False)
    suite.test_a_fixed_cutoff_is_what_it_says(Bad())


def test_a_rule_that_wakes_in_the_past_is_caught() -> None:
    for until in (-1.0, 0.0, 0.5):
        with pytest.raises(AssertionError, match="never wakes in the past"):
            RuleSuite().test_it_never_waits_for_what_has_been(Bad(lambda _, u=until: Wait(until=u)), 7)  # type: ignore[misc]


def test_a_rule_that_waits_for_those_who_are_in_is_caught() -> None:
    with pytest.raises(AssertionError, match="still to come"):
        RuleSuite().test_it_never_waits_for_what_has_been(Bad(lambda p: Wait(count=p.count)), 2)


def test_a_rule_with_a_memory_of_its_own_is_caught() -> None:
    with pytest.raises(AssertionError):
        RuleSuite().test_deciding_is_a_pure_function(Forgetful())


def test_a_rule_that_writes_into_what_it_sees_is_caught() -> None:
    def scribble(progress: Progress) -> Decision:
        progress.arrivals[0] = 0.0
        return Close()

    with pytest.raises(ValueError, match="read-only"):
        RuleSuite().test_deciding_is_a_pure_function(Bad(scribble))


def test_a_rule_that_goes_by_name_is_caught() -> None:
    with pytest.raises(AssertionError):
        RuleSuite().test_relabelling_workers_relabels_the_result(ByName(), late_finish=False)


def test_a_rule_that_lets_those_finish_who_are_in_is_caught() -> None:
    rule = Bad(chosen=lambda record: record.roster.workers[:1].tolist())
    with pytest.raises(AssertionError):
        RuleSuite().test_a_round_takes_between_one_and_all(rule, 6, holes=False, late_finish=False)


def test_a_rule_that_names_a_cutoff_it_does_not_keep_is_caught() -> None:
    for fixed in (0, 2):
        with pytest.raises(AssertionError):
            RuleSuite().test_a_fixed_cutoff_is_what_it_says(Bad(fixed=fixed))
    RuleSuite().test_a_fixed_cutoff_is_what_it_says(Backup(c=2))


@dataclass(frozen=True)
class Worse(Forecaster[Any]):
    """The recent empirical distribution, spoilt."""

    spoil: Callable[[Forecast], Forecast] = lambda forecast: forecast
    scribbles: bool = False
    unit: float = 0.0

    def start(self) -> Any:
        return Recent().start()

    def learn(self, belief: Any, seen: RunTimes) -> Any:
        if self.scribbles and belief:
            belief[0].seconds.flags.writeable = True
            belief[0].seconds[:] *= 2.0
        return Recent().learn(belief, seen)

    def forecast(self, belief: Any, roster: Roster) -> Forecast | None:
        forecast = Recent().forecast(belief, roster)
        if forecast is None:
            return None
        return self.spoil(replace(forecast, times=forecast.times + self.unit))


SPOILT: dict[str, Callable[[Forecast], Forecast]] = {
    "times go back": lambda f: replace(f, times=f.times[::-1]),
    "times from 0 on": lambda f: replace(f, times=f.times - f.times[0]),
    "survival over 1": lambda f: replace(f, survival=2.0 * f.survival),
    "survival increases": lambda f: replace(f, survival=f.survival[:, :, ::-1]),
    "weights of 2": lambda f: replace(f, weights=2.0 * f.weights),
    "other workers": lambda f: replace(f, workers=f.workers + 1),
    "one worker too many": lambda f: replace(
        f, survival=np.concatenate([f.survival, f.survival[:, :1]], axis=1)
    ),
    "a group of nobody's": lambda f: replace(f, groups=f.groups + 1),
    "means that fall": lambda f: replace(f, order_means=np.arange(len(f), 0.0, -1.0)),
}


@pytest.mark.parametrize("how", SPOILT)
def test_a_forecast_that_is_no_law_is_caught(how: str) -> None:
    with pytest.raises(AssertionError):
        ForecasterSuite().test_forecasts_are_laws_for_any_number_of_workers(Worse(SPOILT[how]), 5, 0, 0.4)
    ForecasterSuite().test_forecasts_are_laws_for_any_number_of_workers(Worse(), 5, 0, 0.4)


def test_a_forecaster_that_changes_its_belief_is_caught() -> None:
    with pytest.raises(AssertionError):
        ForecasterSuite().test_a_belief_never_changes(Worse(scribbles=True))
    ForecasterSuite().test_a_belief_never_changes(Worse())


def test_a_forecaster_with_a_unit_of_its_own_is_caught() -> None:
    with pytest.raises(AssertionError):
        ForecasterSuite().test_the_unit_of_time_means_nothing(Worse(unit=1e-3), 4)
    ForecasterSuite().test_the_unit_of_time_means_nothing(Worse(), 4)


def test_a_forecaster_that_ignores_old_work_is_caught() -> None:
    @dataclass(frozen=True)
    class Careless(Worse):
        def forecast(self, belief: Any, roster: Roster) -> Forecast | None:
            return Recent().forecast(belief, replace(roster, busy=np.full(len(roster), np.nan)))

    with pytest.raises(AssertionError):
        ForecasterSuite().test_workers_busy_with_older_work_arrive_later(Careless())


def test_a_forecaster_that_flips_coins_is_caught() -> None:
    coins = itertools.cycle([1.0, 0.5])
    restless = Worse(lambda f: replace(f, survival=f.survival * next(coins)))
    with pytest.raises(AssertionError):
        ForecasterSuite().test_the_same_run_times_give_the_same_forecast(restless)


def test_a_law_is_asked_for_the_workers_that_matter() -> None:
    law = Forecast.independent(np.arange(3), np.array([1.0, 2.0]), np.array([0.5, 0.0]))
    check_forecast(law, np.arange(3))
    with pytest.raises(AssertionError, match="workers that were asked for"):
        check_forecast(law, np.arange(4))


@dataclass(frozen=True)
class Dice(Cluster):
    """Uniform run times on [1, 2] seconds for three workers, spoilt."""

    secret: np.random.Generator | None = None
    stretch: float = 1.0
    hole: float = 1.0
    overhead: float = 0.0

    @property
    def workers(self) -> int:
        return 3

    def sample(self, rounds: int, rng: np.random.Generator) -> Sample:
        drawn = (rng if self.secret is None else self.secret).uniform(1.0, 2.0, (rounds, 3))
        drawn[0, 0] *= self.hole
        return Sample(Table.dense(self.stretch * drawn), np.zeros((rounds, 0)))

    def law(self, hidden: FloatArray) -> Forecast:
        return Forecast.independent(np.arange(3), np.array([1.0, 2.0]), np.array([1.0, 0.0]))


def test_the_cluster_these_are_made_from_passes() -> None:
    suite, cluster = ClusterSuite(), Dice()
    suite.test_the_same_seed_gives_the_same_sample(cluster)
    suite.test_all_randomness_comes_from_the_generator(cluster)
    suite.test_samples_are_tables_of_run_times(cluster)
    suite.test_workers_nodes_and_overhead_are_told(cluster)
    suite.test_the_law_is_one_of_those_who_take_part(cluster)
    suite.test_the_law_is_what_is_drawn_from(cluster)


def test_a_cluster_with_randomness_of_its_own_is_caught() -> None:
    with pytest.raises(AssertionError):
        ClusterSuite().test_the_same_seed_gives_the_same_sample(Dice(secret=np.random.default_rng(0)))


def test_a_cluster_whose_law_is_another_is_caught() -> None:
    with pytest.raises(AssertionError):
        ClusterSuite().test_the_law_is_what_is_drawn_from(Dice(stretch=1.3))


def test_a_cluster_that_draws_no_run_times_is_caught() -> None:
    for hole in (0.0, -1.0, np.inf):
        with pytest.raises(AssertionError):
            ClusterSuite().test_samples_are_tables_of_run_times(Dice(hole=hole))


def test_a_suite_without_its_fixture_says_what_to_do(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from tailcut.testing import RuleSuite

        class TestNothing(RuleSuite):
            pass
        """
    )
    result = pytester.runpytest("-p", "no:cacheprovider", "-k", "pure_function")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*Override the fixture `rule` to say which rule is tested.*"])
