"""Compare policies on one source: every policy and every bound on the same run times, seed by seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tailcut.bounds import best_deadline, best_static, clairvoyant, clairvoyant_whole
from tailcut.engines.simulated import Run
from tailcut.errors import ParameterError
from tailcut.forecast import NoForecast, Truth
from tailcut.policy import Policy
from tailcut.rules import Stopping, WaitAll
from tailcut.study.contest import Entrant, Outcome, contest
from tailcut.study.facts import Kind, PolicyFacts, SourceFacts, Spread
from tailcut.study.metrics import acceptance_by_decile, least_served
from tailcut.study.notes import notes_on
from tailcut.study.playable import refuse_unplayable
from tailcut.study.source import Draw, Source
from tailcut.types import FloatArray, Seconds, Weights

INFORMED, CLAIRVOYANT, WHOLE, STATIC, DEADLINE = (
    "informed",
    "clairvoyant",
    "clairvoyant-whole",
    "best-static",
    "best-deadline",
)
BOUNDS = (INFORMED, CLAIRVOYANT, WHOLE, STATIC, DEADLINE)
MOST_WARMUP = 50


@dataclass(frozen=True, slots=True)
class Setting:
    """How to compare.

    Attributes:
        late_finish: whether late workers finish their work or abandon it; None for as the source says.
        overhead: seconds per round beside waiting; None takes the source's own.
        warmup: rounds left out of the figures; None for min(50, 10 %).
        seeds: samples of a named cluster.
        rounds: rounds per sample; None for the source's own number.
    """

    late_finish: bool | None = None
    overhead: Seconds | None = None
    warmup: int | None = None
    seeds: int = 5
    rounds: int | None = None

    def warmup_of(self, rounds: int) -> int:
        """Rounds to leave out of a run of `rounds`."""
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


@dataclass(frozen=True, slots=True, eq=False)
class _Seed:
    """All outcomes on one sample, bounds included, in the order they are shown; and how plain waiting idles."""

    draw: Draw
    outcomes: dict[str, Outcome]
    rushed: float
    idle_before: float


def compare(
    source: Source,
    entrants: Sequence[Entrant],
    setting: Setting,
    progress: Callable[[str], None] = lambda _: None,
) -> SourceFacts:
    """Run every policy and every bound on every sample of a source.

    Args:
        source: a table or a cluster.
        entrants: the policies.
        setting: how to compare.
        progress: told what was finished, once per policy, bound and seed; see `steps`.
    """
    seeds = [
        _one_seed(source.draw(seed, setting.rounds), entrants, setting, progress)
        for seed in range(source.seeds(setting.seeds))
    ]
    first = seeds[0]
    skip = setting.warmup_of(first.draw.table.rounds)
    kinds = {entrant.name: _kind(entrant) for entrant in entrants}
    policies = tuple(_policy_facts(name, kinds.get(name, "bound"), seeds, skip) for name in first.outcomes)
    facts = SourceFacts(
        source=source.name,
        about=source.about,
        workers=first.draw.table.workers,
        rounds=first.draw.table.rounds,
        warmup=skip,
        seeds=len(seeds),
        late="finish" if first.draw.late_finish else "abandon",
        overhead=first.draw.overhead,
        idle_before=_mean([seed.idle_before for seed in seeds]),
        policies=policies,
        notes=(),
        seconds=first.draw.table.seconds,
        cutoffs={name: outcome.run.counts for name, outcome in first.outcomes.items()},
        closes={name: outcome.run.elapsed for name, outcome in first.outcomes.items()},
    )
    return notes_on(facts, first.draw.table, max(seed.rushed for seed in seeds))


def steps(source: Source, entrants: Sequence[Entrant], setting: Setting) -> int:
    """How often `compare` will report progress."""
    bounds = len(BOUNDS) if source.has_law else len(BOUNDS) - 1
    return source.seeds(setting.seeds) * (len(entrants) + bounds)


def _one_seed(
    draw: Draw, entrants: Sequence[Entrant], setting: Setting, progress: Callable[[str], None]
) -> _Seed:
    overhead = draw.overhead if setting.overhead is None else setting.overhead
    finish = draw.late_finish if setting.late_finish is None else setting.late_finish
    draw = replace(draw, overhead=overhead, late_finish=finish)
    table, skip = draw.table, setting.warmup_of(draw.table.rounds)
    refuse_unplayable(table, overhead)
    outcomes: dict[str, Outcome] = {}

    def keep(name: str, outcome: Outcome) -> None:
        outcomes[name] = outcome
        progress(name)

    for entrant in entrants:
        keep(entrant.name, contest(table, entrant, late_finish=finish, overhead=overhead))
    if draw.law is not None and draw.hidden is not None:
        informed = Entrant(INFORMED, Policy(Truth(draw.law, draw.hidden), Stopping()))
        keep(INFORMED, contest(table, informed, late_finish=finish, overhead=overhead))
    seer, whole = clairvoyant(table, overhead), clairvoyant_whole(table, overhead)
    keep(CLAIRVOYANT, _untimed(seer.run))
    keep(WHOLE, _untimed(whole.run))
    keep(STATIC, _untimed(best_static(table, overhead, finish, skip).run))
    keep(DEADLINE, _untimed(best_deadline(table, overhead, finish, skip).run))
    waiting = contest(table, _wait_all(), late_finish=finish, overhead=overhead)
    return _Seed(draw, outcomes, whole.rushed, waiting.run.idle_share(skip))


def _untimed(run: Run) -> Outcome:
    return Outcome(run, np.zeros(0), None)


def _wait_all() -> Entrant:
    return Entrant("wait-all", Policy(NoForecast(), WaitAll()))


def _kind(entrant: Entrant) -> Kind:
    return "policy" if entrant.whole_and_fresh else "other"


def _policy_facts(name: str, kind: Kind, seeds: list[_Seed], skip: int) -> PolicyFacts:
    def share_of(bound: str, leave_out: int = skip) -> Spread:
        return Spread.over(
            [
                _after(seed.outcomes[name].run, leave_out, Run.throughput)
                / seed.outcomes[bound].run.throughput(leave_out)
                for seed in seeds
            ]
        )

    outcomes = [seed.outcomes[name] for seed in seeds]
    costs = np.concatenate([outcome.decision_ms for outcome in outcomes])
    timed = [outcome.round_ms for outcome in outcomes if outcome.round_ms is not None]
    return PolicyFacts(
        policy=name,
        kind=kind,
        throughput=Spread.over([_after(outcome.run, skip, Run.throughput) for outcome in outcomes]),
        of_clairvoyant=share_of(CLAIRVOYANT),
        of_clairvoyant_all=share_of(CLAIRVOYANT, 0),
        of_informed=share_of(INFORMED) if INFORMED in seeds[0].outcomes else None,
        of_best_static=share_of(STATIC),
        of_best_deadline=share_of(DEADLINE),
        mean_cutoff=_mean([_after(outcome.run, skip, _mean_value) for outcome in outcomes]),
        idle=_mean([_after(outcome.run, skip, Run.idle_share) for outcome in outcomes]),
        least_served=_mean([least_served(seed.outcomes[name].run, seed.draw.table, skip) for seed in seeds]),
        deciles=tuple(_mean_deciles(name, seeds, skip).tolist()),
        decision_ms_p50=float(np.quantile(costs, 0.5)) if len(costs) else None,
        decision_ms_p99=float(np.quantile(costs, 0.99)) if len(costs) else None,
        round_ms=_mean(timed) if timed else None,
        weights=_mean_weights([outcome.run for outcome in outcomes], skip),
    )


def _after(run: Run, skip: int, figure: Callable[[Run, int], float]) -> float:
    """A figure of the rounds after the first `skip`; NaN where the work of the table was used up before."""
    return figure(run, skip) if run.rounds > skip else math.nan


def _mean_value(run: Run, skip: int) -> float:
    return float(run.values[skip:].mean())


def _mean_weights(runs: list[Run], skip: int) -> Weights:
    """Mean weight of each part of the forecast over rounds and seeds."""
    parts = list(dict.fromkeys(name for run in runs for name in run.weights))
    return tuple(
        (name, _mean([float(np.nanmean(run.weights[name][skip:])) for run in runs])) for name in parts
    )


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _mean_deciles(name: str, seeds: list[_Seed], skip: int) -> FloatArray:
    rows = [acceptance_by_decile(seed.outcomes[name].run, seed.draw.table, skip) for seed in seeds]
    mean: FloatArray = np.mean(rows, axis=0)
    return mean
