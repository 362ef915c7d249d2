"""Compare policies on one source: every policy and every bound on the same run times, seed by seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from tailcut.errors import ParameterError
from tailcut.forecast import NoForecast
from tailcut.study.beforehand import prepared
from tailcut.study.contest import Entrant
from tailcut.study.facts import Kind, PolicyFacts, SourceFacts, Spread
from tailcut.study.notes import notes_on
from tailcut.study.one_run import (
    BOUNDS,
    CLAIRVOYANT,
    DEADLINE,
    INFORMED,
    REFERENCE,
    STATIC,
    WHOLE,
    Match,
    OneRun,
    blocks_of,
    play_one,
)
from tailcut.study.parallel import Interrupted, Job, cores, each_done
from tailcut.study.playable import refuse_unplayable
from tailcut.study.source import Draw, Source, drawn
from tailcut.types import FloatArray, Seconds, Weights

__all__ = [
    "BOUNDS",
    "CLAIRVOYANT",
    "DEADLINE",
    "INFORMED",
    "STATIC",
    "WHOLE",
    "Sampling",
    "Setting",
    "bounds_of",
    "compare",
    "processes_for",
    "steps",
    "warmup_of",
]

MOST_WARMUP = 50
ROUND_SECONDS, ARRIVAL_SECONDS = 1e-3, 2e-5
"""Estimated seconds that a usual policy takes for a round, and for each worker in it."""
WORTH_PROCESSES = 10.0
"""Estimated seconds of work from which on starting processes pays; each takes a second to start."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The settings of a comparison.

    Attributes:
        late_finish: whether late workers finish their work or abandon it; None for the source's own mode.
        overhead: seconds per round beside waiting; None takes the source's own.
        warmup: rounds left out of the figures; None for min(50, 10 %).
        seeds: number of samples of a named cluster.
        rounds: rounds per sample; None for the source's own number.
    """

    late_finish: bool | None = None
    overhead: Seconds | None = None
    warmup: int | None = None
    seeds: int = 5
    rounds: int | None = None

    def warmup_of(self, rounds: int) -> int:
        """Return the number of first rounds to leave out of a run of `rounds`."""
        return warmup_of(self.warmup, rounds)


def warmup_of(wanted: int | None, rounds: int) -> int:
    """First rounds of a run to leave out of its figures; None for min(50, 10 %)."""
    if wanted is None:
        return min(MOST_WARMUP, rounds // 10)
    if wanted >= rounds:
        raise ParameterError(
            f"warmup must leave at least one of the {rounds} rounds, but got {wanted}. Try --warmup 0."
        )
    return wanted


def compare(
    source: Source,
    entrants: Sequence[Entrant],
    setting: Setting,
    progress: Callable[[str], None] = lambda _: None,
    *,
    processes: int = 1,
    finished: Callable[[PolicyFacts], None] = lambda _: None,
) -> SourceFacts:
    """Run every policy and every bound on every sample of a source.

    Args:
        source: a table or a cluster.
        entrants: the policies.
        setting: settings of the comparison.
        progress: called with the name of the policy or bound, once for each of its seeds; see `steps`.
        processes: number of processes; figures do not depend on it.
        finished: called with the facts of each policy as soon as they are complete.

    Raises:
        Interrupted: Ctrl-C came once some policies were finished; it carries the facts about them.
    """
    try:
        match, first, notes = _match(source, entrants, setting)
        seeds = range(source.seeds(setting.seeds))
        rows = _Rows(match, first, len(seeds), notes)
        done: dict[str, dict[int, OneRun]] = {name: {} for name in (REFERENCE, *rows.names)}
        try:
            for (seed, name), run in each_done(_jobs(match, len(seeds)), processes, match):
                done[name][seed] = run
                if name != REFERENCE:
                    progress(name)
                if len(done[name]) == len(seeds):
                    for row in rows.untold(done):
                        finished(row)
        except KeyboardInterrupt as reason:
            if not rows.untold(done, again=True):
                raise
            some = rows.facts(done)
            said = f"{sum(one.kind != 'bound' for one in some.policies)} of {len(entrants)} policies on {source.name}"
            note = f"Interrupted after {said}: the others, and perhaps `informed`, are missing."
            raise Interrupted(replace(some, notes=(*some.notes, note)), said) from reason
        return rows.facts(done)
    finally:
        drawn.cache_clear()
        blocks_of.cache_clear()


def steps(source: Source, entrants: Sequence[Entrant], setting: Setting) -> int:
    """Return the number of times that `compare` will report progress."""
    return source.seeds(setting.seeds) * (len(entrants) + len(bounds_of(source)))


def bounds_of(source: Source) -> tuple[str, ...]:
    """Return the bounds that can be computed: not all where the law is unknown or states move by the clock."""
    without = ({INFORMED} if not source.has_law else set()) | ({WHOLE} if source.by_clock else set())
    return tuple(name for name in BOUNDS if name not in without)


class Sampling(Protocol):
    """The number and the length of samples: the part of a setting that `processes_for` needs."""

    @property
    def seeds(self) -> int:
        """Samples of each named cluster."""

    @property
    def rounds(self) -> int | None:
        """Rounds per sample; None for the source's own number."""


def processes_for(sources: Sequence[Source], entrants: int, sampling: Sampling, wanted: int | None) -> int:
    """Return how many processes to start: as many as wanted, otherwise all cores where that is worth it.

    Args:
        sources: all sources.
        entrants: number of policies, or of forecasters.
        sampling: number and length of the samples.
        wanted: number that the user wants; None to decide by an estimate of how long the work takes.
    """
    if wanted is not None:
        return wanted
    seconds = 0.0
    for source in sources:
        rounds, workers = source.size(sampling.rounds)
        seconds += (
            source.seeds(sampling.seeds) * entrants * rounds * (ROUND_SECONDS + ARRIVAL_SECONDS * workers)
        )
    return cores() if seconds > WORTH_PROCESSES else 1


def _match(
    source: Source, entrants: Sequence[Entrant], setting: Setting
) -> tuple[Match, Draw, tuple[str, ...]]:
    """Return the match, the first sample, and sentences on entrants that were trained."""
    rounds = drawn(source, 0, setting.rounds).times.rounds
    skip = setting.warmup_of(rounds)
    match = Match(source, tuple(entrants), setting.rounds, setting.late_finish, setting.overhead, skip)
    first = match.draw(0)
    refuse_unplayable(first.table, first.overhead)
    ready = prepared(source, entrants, rounds)
    match = replace(match, entrants=ready.entrants, skip=max(skip, ready.skip))
    return match, first, ready.notes


def _jobs(match: Match, seeds: int) -> list[Job[tuple[int, str], OneRun]]:
    """Return the jobs: first those that every row needs, then quick policies, then slow ones."""
    light = [one.name for one in match.entrants if isinstance(one.policy.forecaster, NoForecast)]
    heavy = [one.name for one in reversed(match.entrants) if one.name not in light]
    bounds = [name for name in bounds_of(match.source) if name != INFORMED]
    order = [(seed, name) for seed in range(seeds) for name in (REFERENCE, *bounds, *light)]
    if match.source.has_law:
        heavy.append(INFORMED)
    order += [(seed, name) for name in heavy for seed in range(seeds)]
    return [Job(key, play_one, key) for key in order]


class _Rows:
    """The finished runs of a comparison, turned into facts."""

    def __init__(self, match: Match, first: Draw, seeds: int, notes: tuple[str, ...] = ()) -> None:
        self._match, self._first, self._seeds, self._notes = match, first, seeds, notes
        self._kinds = {entrant.name: _kind(entrant) for entrant in match.entrants}
        self.names = (*self._kinds, *bounds_of(match.source))
        self._told: set[str] = set()

    def can_tell(self, done: Mapping[str, Mapping[int, OneRun]]) -> bool:
        """Return whether the runs that every row is compared with are finished."""
        needed = (REFERENCE, *(name for name in bounds_of(self._match.source) if name != INFORMED))
        return all(len(done[name]) == self._seeds for name in needed)

    def untold(self, done: Mapping[str, Mapping[int, OneRun]], again: bool = False) -> list[PolicyFacts]:
        """Return the facts about finished policies: without those returned before, unless `again`."""
        if not self.can_tell(done):
            return []
        names = [name for name in self._kinds if len(done[name]) == self._seeds]
        rows = [self._policy(name, done) for name in names if again or name not in self._told]
        self._told.update(names)
        return rows

    def facts(self, done: Mapping[str, Mapping[int, OneRun]]) -> SourceFacts:
        """Return the facts about all finished policies and bounds."""
        draw, match = self._first, self._match
        complete = {name: done[name][0] for name in self.names if len(done[name]) == self._seeds}
        facts = SourceFacts(
            source=match.source.name,
            about=match.source.about,
            workers=draw.table.workers,
            rounds=draw.table.rounds,
            warmup=match.skip,
            seeds=self._seeds,
            late="finish" if draw.late_finish else "abandon",
            overhead=draw.overhead,
            idle_before=_mean([run.idle for run in _in_order(done[REFERENCE])]),
            policies=tuple(self._policy(name, done) for name in complete),
            notes=self._notes,
            seconds=draw.table.seconds,
            cutoffs={name: run.counts for name, run in complete.items()},
            closes={name: run.elapsed for name, run in complete.items()},
            states="clock" if match.source.by_clock else "rounds",
        )
        return notes_on(
            facts, draw.table, max((run.rushed for run in done.get(WHOLE, {}).values()), default=0.0)
        )

    def _policy(self, name: str, done: Mapping[str, Mapping[int, OneRun]]) -> PolicyFacts:
        runs = _in_order(done[name])

        def share_of(bound: str) -> Spread:
            return Spread.over([run.rate / other.rate for run, other in zip(runs, of(bound), strict=True)])

        def of(bound: str) -> list[OneRun]:
            return _in_order(done[bound])

        best = [
            max(other.rate for other in some)
            for some in zip(*map(of, (STATIC, DEADLINE, REFERENCE)), strict=True)
        ]
        share = Spread.over([run.rate / rate for run, rate in zip(runs, best, strict=True)])
        has_informed = len(done.get(INFORMED, {})) == self._seeds
        costs = np.concatenate([run.decision_ms for run in runs])
        timed = [run.round_ms for run in runs if run.round_ms is not None]
        deciles: FloatArray = np.mean([run.deciles for run in runs], axis=0)
        return PolicyFacts(
            policy=name,
            kind=self._kinds.get(name, "bound"),
            throughput=Spread.over([run.rate for run in runs]),
            of_clairvoyant=share_of(CLAIRVOYANT),
            of_clairvoyant_all=Spread.over(
                [run.rate_all / other.rate_all for run, other in zip(runs, of(CLAIRVOYANT), strict=True)]
            ),
            of_informed=share_of(INFORMED) if has_informed else None,
            of_best_static=share_of(STATIC),
            of_best_deadline=share_of(DEADLINE),
            mean_cutoff=_mean([run.mean_value for run in runs]),
            idle=_mean([run.idle for run in runs]),
            least_served=_mean([run.least_served for run in runs]),
            deciles=tuple(deciles.tolist()),
            decision_ms_p50=float(np.quantile(costs, 0.5)) if len(costs) else None,
            decision_ms_p99=float(np.quantile(costs, 0.99)) if len(costs) else None,
            round_ms=_mean(timed) if timed else None,
            weights=_mean_weights(runs),
            table_score=None if self._match.source.by_clock else share,
            clock_score=share
            if self._match.source.by_clock
            else Spread.over([run.by_blocks for run in runs]),
        )


def _in_order(runs: Mapping[int, OneRun]) -> list[OneRun]:
    """Return the runs by rising seed."""
    return [runs[seed] for seed in sorted(runs)]


def _kind(entrant: Entrant) -> Kind:
    return "policy" if entrant.whole_and_fresh else "other"


def _mean_weights(runs: list[OneRun]) -> Weights:
    """Mean weight of each part of the forecast over rounds and seeds."""
    parts = list(dict.fromkeys(name for run in runs for name in run.weights))
    return tuple((name, _mean([run.weights[name] for run in runs])) for name in parts)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
