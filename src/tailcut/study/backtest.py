"""Backtest forecasters on one source: each forecasts every round from those before it, and is scored.

All learn from the same rounds, closed by the same policy, so that they differ only in the forecast.
From Python:

    >>> from tailcut import names
    >>> from tailcut.forecast import Recent
    >>> setting = BacktestSetting(seeds=1, rounds=40)
    >>> facts = backtest(names.source("demo8"), [Contender("recent", Recent())], setting)
    >>> [found.name for found in facts.forecasters]
    ['recent', 'truth']
    >>> 0.7 < facts.forecasters[0].cover90.mean <= 1.0
    True

One forecaster on one table, round by round: `tailcut.study.one_step.one_step_ahead`. Single scores of one forecast:
`tailcut.study.scores`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tailcut.acceptance import SYNCHRONOUS
from tailcut.errors import ParameterError
from tailcut.forecast import NoForecast, Truth
from tailcut.forecast.base import Forecaster
from tailcut.policies import stopping
from tailcut.study.backtest_facts import BacktestFacts, ForecasterFacts
from tailcut.study.compare import warmup_of
from tailcut.study.contest import Entrant
from tailcut.study.facts import Spread
from tailcut.study.lessons import Lesson, See, closed_rounds, whole_rounds
from tailcut.study.one_step import Trail, one_step_ahead
from tailcut.study.parallel import Interrupted, Job, each_done
from tailcut.study.playable import refuse_unplayable
from tailcut.study.source import Draw, Source, drawn
from tailcut.types import FloatArray

TRUTH = "truth"
NARROW, WIDE = 0.85, 0.95
"""Coverage of the 90 % interval below which a forecaster is too sure, and above which it is too unsure."""


@dataclass(frozen=True, slots=True, eq=False)
class Contender:
    """A forecaster in a backtest, with its name."""

    name: str
    forecaster: Forecaster[Any]


@dataclass(frozen=True, slots=True)
class BacktestSetting:
    """The settings of a backtest.

    Attributes:
        see: run times to learn from: "all" of them, or those that "closed" rounds show.
        closing: the policy that closes the rounds; None for `stopping`.
        warmup: first rounds that are learned, not scored; None for min(50, 10 %).
        seeds: number of samples of a named cluster.
        rounds: rounds per sample; None for the source's own number.
    """

    see: See = "closed"
    closing: Entrant | None = None
    warmup: int | None = None
    seeds: int = 5
    rounds: int | None = None

    def warmup_of(self, rounds: int) -> int:
        """Return the number of first rounds to leave out of a run of `rounds`."""
        return warmup_of(self.warmup, rounds)


def contenders(entrants: Sequence[Entrant]) -> list[Contender]:
    """The distinct forecasters of some policies, each called by the policies that use it.

    Raises:
        ParameterError: a policy forecasts nothing.
    """
    found: list[tuple[list[str], Forecaster[Any]]] = []
    for entrant in entrants:
        forecaster = entrant.policy.forecaster
        if isinstance(forecaster, NoForecast):
            raise ParameterError(
                f"The policy {entrant.name!r} forecasts nothing, so there is nothing to score. Name policies that "
                "do, such as stopping or empirical."
            )
        for specs, other in found:
            if other == forecaster:
                specs.append(entrant.name)
                break
        else:
            found.append(([entrant.name], forecaster))
    return [Contender(", ".join(specs), forecaster) for specs, forecaster in found]


def backtest(
    source: Source,
    some: Sequence[Contender],
    setting: BacktestSetting,
    progress: Callable[[str], None] = lambda _: None,
    *,
    processes: int = 1,
) -> BacktestFacts:
    """Score every forecaster, and the truth where it is known, on every sample of a source.

    Args:
        source: a table or a cluster.
        some: the forecasters.
        setting: settings of the backtest.
        progress: called with the name of the forecaster, once per forecaster and seed; see `backtest_steps`.
        processes: number of processes; figures do not depend on it.

    Raises:
        Interrupted: Ctrl-C came once some forecasters were finished; it carries the facts about them.
    """
    closing = setting.closing or Entrant("stopping", stopping())
    refuse_closing(closing)
    try:
        # A backtest needs a table; a source without one raises an error here.
        first = source.draw(0, setting.rounds)
        lessons = _Lessons(source, tuple(some), setting, closing, setting.warmup_of(first.table.rounds))
        refuse_unplayable(first.table, first.overhead)
        names = [one.name for one in lessons.contenders()]
        seeds = range(source.seeds(setting.seeds))
        # The forecaster named last usually takes longest, so all its seeds start first.
        jobs = [Job(key, _score, key) for key in ((seed, name) for name in reversed(names) for seed in seeds)]
        done: dict[str, dict[int, tuple[Trail, float]]] = {name: {} for name in names}
        try:
            for (seed, name), scored in each_done(jobs, processes, lessons):
                done[name][seed] = scored
                progress(name)
        except KeyboardInterrupt as reason:
            whole = [name for name in names if len(done[name]) == len(seeds)]
            if not whole:
                raise
            said = f"{len(whole)} of {len(names)} forecasters on {source.name}"
            note = f"Interrupted after {said}: the others are missing."
            raise Interrupted(_all_facts(lessons, first, whole, done, (note,)), said) from reason
        return _all_facts(lessons, first, names, done, ())
    finally:
        drawn.cache_clear()
        _taught.cache_clear()


@dataclass(frozen=True, slots=True, eq=False)
class _Lessons:
    """The inputs of a backtest that are the same for every job."""

    source: Source
    some: tuple[Contender, ...]
    setting: BacktestSetting
    closing: Entrant
    skip: int

    def contenders(self, seed: int = 0) -> list[Contender]:
        """Return the forecasters, and the truth of a sample where it is known."""
        draw = drawn(self.source, seed, self.setting.rounds)
        if draw.law is None or draw.hidden is None:
            return list(self.some)
        return [*self.some, Contender(TRUTH, Truth(draw.law, draw.hidden))]


@lru_cache(maxsize=64)
def _taught(lessons: _Lessons, seed: int) -> tuple[tuple[Lesson, ...], float]:
    """Return the lessons of a sample, and the share of the run times that its rounds showed; cached."""
    draw = drawn(lessons.source, seed, lessons.setting.rounds)
    refuse_unplayable(draw.table, draw.overhead)
    taught = closed_rounds(draw.table, lessons.closing.policy, draw.overhead)
    seen = float(np.concatenate([one.shown.observed for one in taught]).mean())
    if lessons.setting.see == "all":
        taught = whole_rounds(draw.table, taught)
    return tuple(taught), seen


def _score(lessons: _Lessons, seed: int, name: str) -> tuple[Trail, float]:
    taught, seen = _taught(lessons, seed)
    forecaster = next(one.forecaster for one in lessons.contenders(seed) if one.name == name)
    table = drawn(lessons.source, seed, lessons.setting.rounds).table
    return one_step_ahead(table, forecaster, list(taught), seed, lessons.skip), seen


def _all_facts(
    lessons: _Lessons,
    first: Draw,
    names: Sequence[str],
    done: Mapping[str, Mapping[int, tuple[Trail, float]]],
    notes: tuple[str, ...],
) -> BacktestFacts:
    kinds = {one.name: type(one.forecaster).__name__ for one in lessons.some}
    scored = {name: [done[name][seed] for seed in sorted(done[name])] for name in names}
    seen = [share for _, share in scored[names[0]]]
    found = tuple(
        _facts(name, kinds.get(name), [trail for trail, _ in mine], lessons.skip)
        for name, mine in scored.items()
    )
    return BacktestFacts(
        source=lessons.source.name,
        about=lessons.source.about,
        workers=first.table.workers,
        rounds=first.table.rounds,
        warmup=lessons.skip,
        seeds=len(seen),
        see=lessons.setting.see,
        close=lessons.closing.name,
        seen=sum(seen) / len(seen),
        forecasters=found,
        notes=(*(note for facts in found for note in _notes(facts)), *notes),
    )


def backtest_steps(source: Source, some: Sequence[Contender], setting: BacktestSetting) -> int:
    """Return the number of times that `backtest` will report progress."""
    return source.seeds(setting.seeds) * (len(some) + source.has_law)


def refuse_closing(closing: Entrant) -> None:
    """Raise a `ParameterError` if rounds closed by this policy do not show whole run times of their own."""
    if closing.acceptance != SYNCHRONOUS or closing.policy.micro != 1:
        raise ParameterError(
            f"Rounds cannot be closed by {closing.name!r} here: it takes parts of gradients or stale ones, and a "
            "backtest needs rounds that show their own run times. Try --close stopping."
        )


def _facts(name: str, forecaster: str | None, trails: list[Trail], skip: int) -> ForecasterFacts:
    def spread(figure: Callable[[Trail], float]) -> Spread:
        return Spread.over([figure(trail) for trail in trails])

    histograms = [np.nansum(trail.pit, axis=0) for trail in trails]
    scored = [np.isfinite(trail.known[skip:]) for trail in trails]
    return ForecasterFacts(
        name=name,
        forecaster=forecaster or Truth.__name__,
        kind="bound" if forecaster is None else "forecaster",
        log_score=spread(lambda trail: _mean(trail.log_score)),
        order_crps=spread(_relative_order_crps),
        close_crps=spread(lambda trail: _mean(trail.close_crps)),
        cover50=spread(lambda trail: _ratio(trail.in50, trail.known)),
        cover90=spread(lambda trail: _ratio(trail.in90, trail.known)),
        pit=tuple(np.mean([counts / max(counts.sum(), 1.0) for counts in histograms], axis=0).tolist()),
        left_out=int(sum((~rows).sum() for rows in scored)),
        round_ms=float(np.mean([trail.ms[skip:].mean() for trail in trails])),
        cover90_by_round=trails[0].in90 / trails[0].known,
    )


def _relative_order_crps(trail: Trail) -> float:
    """The mean over positions of (mean CRPS of x_(c)) / (mean x_(c)), over the rounds with a forecast."""
    rows = np.isfinite(trail.known)
    if not rows.any():
        return math.nan
    return float((trail.order_crps[rows].mean(axis=0) / trail.order_truth[rows].mean(axis=0)).mean())


def _mean(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan


def _ratio(part: FloatArray, whole: FloatArray) -> float:
    total = float(np.nansum(whole))
    return float(np.nansum(part)) / total if total else math.nan


def _notes(facts: ForecasterFacts) -> list[str]:
    if facts.kind == "bound" or NARROW <= facts.cover90.mean <= WIDE or math.isnan(facts.cover90.mean):
        return []
    share, sure = f"{100 * facts.cover90.mean:.1f} %", "sure" if facts.cover90.mean < NARROW else "unsure"
    return [f"`{facts.name}` is too {sure}: its 90 % interval holds {share} of the run times."]
