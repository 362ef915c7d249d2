"""Comparisons and backtests spread over processes: the same figures; errors are sentences, interrupts leave facts."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pytest

from tailcut.errors import InputError, ParameterError, TailcutError
from tailcut.names import entrant, source
from tailcut.report import as_json
from tailcut.report.backtest import backtest_json
from tailcut.study.backtest import BacktestSetting, backtest, contenders
from tailcut.study.backtest_facts import Backtest
from tailcut.study.compare import BOUNDS, Setting, compare, processes_for
from tailcut.study.contest import Entrant
from tailcut.study.facts import Comparison, PolicyFacts, SourceFacts
from tailcut.study.parallel import THREAD_LIMITS, Interrupted, Job, each_done
from tailcut.study.source import Draw, Recorded, Source
from tailcut.table import Table

pytestmark = pytest.mark.processes

SPECS = ("wait-all", "stopping", "backup:b=1", "softsync")
TIMED = ("decision_ms_p50", "decision_ms_p99", "round_ms")
"""Figures that depend on the speed and load of the machine."""


def rows_of(facts: SourceFacts) -> str:
    rows: list[dict[str, Any]] = as_json(Comparison("c", (facts,)))
    return json.dumps(
        [{key: value for key, value in row.items() if key not in TIMED} for row in rows], allow_nan=False
    )


@pytest.mark.parametrize(
    ("spec", "late_finish"), [("nodes16", False), ("nodes16:states=clock", False), ("fail-and-return", True)]
)
def test_two_processes_give_the_bytes_of_one(spec: str, late_finish: bool) -> None:
    policies = [entrant(one) for one in SPECS if not (late_finish and one == "softsync")]
    setting = Setting(seeds=2, rounds=30, late_finish=late_finish)
    alone, spread = (compare(source(spec), policies, setting, processes=count) for count in (1, 2))
    assert rows_of(alone) == rows_of(spread)
    for name in alone.closes:
        assert alone.closes[name].tobytes() == spread.closes[name].tobytes()


def test_two_processes_score_forecasts_as_one_does() -> None:
    some = contenders([entrant(spec) for spec in ("trend", "empirical")])
    setting = BacktestSetting(seeds=2, rounds=24)
    found = [backtest(source("demo8"), some, setting, processes=count) for count in (1, 2)]
    alone, spread = (
        [
            {key: value for key, value in row.items() if key not in TIMED}
            for row in backtest_json(Backtest("c", (one,)))
        ]
        for one in found
    )
    assert json.dumps(alone) == json.dumps(spread)


def _limits(number: int) -> tuple[int, list[str | None]]:
    return number, [os.environ.get(name) for name in THREAD_LIMITS]


def test_every_process_computes_with_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    found = dict(each_done([Job(number, _limits, (number,)) for number in range(3)], 2))
    assert found == {number: (number, ["1"] * len(THREAD_LIMITS)) for number in range(3)}
    assert os.environ["OMP_NUM_THREADS"] == "7"


def _fails(how: str) -> None:
    if how == "foreseen":
        raise InputError("What was given is wrong. Give something else.")
    if how == "memory":
        raise MemoryError
    raise RuntimeError("a mistake\nof ours")


@pytest.mark.parametrize(
    ("how", "kind", "said"),
    [
        ("foreseen", InputError, "What was given is wrong. Give something else."),
        ("memory", TailcutError, "There is not enough memory for so many processes. Take fewer."),
        (
            "unforeseen",
            TailcutError,
            "A process failed with RuntimeError: a mistake of ours. Run the command in one process to see where.",
        ),
    ],
)
def test_what_goes_wrong_in_a_process_is_one_sentence(how: str, kind: type[TailcutError], said: str) -> None:
    with pytest.raises(kind) as caught:
        list(each_done([Job(number, _fails, (how,)) for number in range(2)], 2))
    assert type(caught.value) is kind
    assert str(caught.value) == said


def test_a_policy_that_cannot_travel_is_refused_in_a_sentence() -> None:
    local = Entrant("mine", entrant("wait-all").policy, lambda: None)  # type: ignore[arg-type]
    with pytest.raises(
        ParameterError, match=r"The work cannot be sent to other processes .*Take one process"
    ):
        compare(source("demo8"), [local], Setting(seeds=2, rounds=20), processes=2)


@final
@dataclass(frozen=True, eq=False)
class _HollowLater(Source):
    """A source of which only the second sample cannot be played."""

    name: str = "hollow"
    about: str = ""

    @property
    def has_law(self) -> bool:
        return False

    def seeds(self, wanted: int) -> int:
        return wanted

    def draw(self, seed: int, rounds: int | None) -> Draw:
        table = Table.dense(np.ones((20, 3)))
        if seed == 1:
            table.observed[5] = False
        return Draw(table)


def test_every_sample_is_looked_at_before_it_is_played() -> None:
    for processes in (1, 2):
        with pytest.raises(InputError, match=r"In round 5 .* no gradient ever comes"):
            compare(_HollowLater(), [entrant("wait-all")], Setting(seeds=2), processes=processes)


def _after(name: str, times: int) -> Callable[[str], None]:
    seen = []

    def tell(what: str) -> None:
        seen.append(what)
        if seen.count(name) == times:
            raise KeyboardInterrupt

    return tell


def test_an_interrupt_leaves_the_policies_that_are_finished_with_the_figures_they_would_have() -> None:
    policies = [entrant(spec) for spec in ("wait-all", "backup:b=1", "stopping", "empirical")]
    setting = Setting(seeds=2, rounds=30)
    told: list[PolicyFacts] = []
    whole = compare(source("demo8"), policies, setting, finished=told.append)
    # Slow policies come last, in reverse order.
    assert [one.policy for one in told] == ["wait-all", "backup:b=1", "empirical", "stopping"]
    with pytest.raises(Interrupted) as caught:
        compare(source("demo8"), policies, setting, _after("stopping", 1))
    some = caught.value.facts
    assert caught.value.said == "3 of 4 policies on demo8"
    assert "Interrupted after 3 of 4 policies on demo8" in some.notes[-1]
    kept = {one.policy: one for one in some.policies}
    assert list(kept) == ["wait-all", "backup:b=1", "empirical", *BOUNDS[1:]]
    for one in whole.policies:
        if one.policy in ("wait-all", "backup:b=1", *BOUNDS[1:]):
            assert kept[one.policy].throughput == one.throughput
            assert kept[one.policy].clock_score == one.clock_score


def test_rows_are_told_whatever_ends_last(monkeypatch: pytest.MonkeyPatch) -> None:
    def backwards(jobs: Sequence[Job[Any, Any]], processes: int, shared: object) -> Iterator[tuple[Any, Any]]:
        return iter([(job.key, job.work(shared, *job.arguments)) for job in jobs][::-1])

    monkeypatch.setattr("tailcut.study.compare.each_done", backwards)
    told: list[PolicyFacts] = []
    compare(
        source("demo8"),
        [entrant("wait-all"), entrant("bandit")],
        Setting(seeds=2, rounds=20),
        finished=told.append,
    )
    assert sorted(one.policy for one in told) == ["bandit", "wait-all"]


def test_an_interrupt_before_any_policy_is_finished_leaves_nothing() -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        compare(source("demo8"), [entrant("wait-all")], Setting(seeds=2, rounds=20), _after("wait-all", 1))
    assert not isinstance(caught.value, Interrupted)


def test_an_interrupted_backtest_leaves_the_forecasters_that_are_finished() -> None:
    some = contenders([entrant(spec) for spec in ("trend", "empirical")])
    setting = BacktestSetting(seeds=2, rounds=24)
    with pytest.raises(Interrupted) as caught:
        backtest(source("demo8"), some, setting, _after("trend", 1))
    assert [one.name for one in caught.value.facts.forecasters] == ["empirical", "truth"]
    assert "2 of 3 forecasters on demo8" in caught.value.facts.notes[-1]


def test_processes_are_started_only_for_work_that_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailcut.study.compare.cores", lambda: 2)
    small, large = [source("demo8")], [source("xeon158")]
    tiny = [Recorded("t", "", Table.dense(np.ones((20, 3))))]
    assert processes_for(small, 10, Setting(seeds=1, rounds=40), None) == 1
    assert processes_for(tiny, 10, Setting(), None) == 1
    assert processes_for(large, 10, Setting(), None) == 2
    assert processes_for(small, 10, Setting(seeds=1, rounds=40), 5) == 5
    assert processes_for(large, 10, Setting(), 1) == 1
