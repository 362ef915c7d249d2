"""One policy or bound on one sample: the figures that a comparison consists of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from tailcut.bounds import best_deadline, best_static, clairvoyant, clairvoyant_whole
from tailcut.engines.simulated import Run
from tailcut.forecast import NoForecast, Truth
from tailcut.policy import Policy
from tailcut.rules import Stopping, WaitAll
from tailcut.study.clock_score import Blocks
from tailcut.study.contest import Entrant, Outcome, contest
from tailcut.study.metrics import acceptance_by_decile, least_served
from tailcut.study.playable import refuse_unplayable
from tailcut.study.source import Draw, Source, drawn
from tailcut.types import FloatArray, IntArray, Seconds

INFORMED, CLAIRVOYANT, WHOLE, STATIC, DEADLINE = (
    "informed",
    "clairvoyant",
    "clairvoyant-whole",
    "best-static",
    "best-deadline",
)
BOUNDS = (INFORMED, CLAIRVOYANT, WHOLE, STATIC, DEADLINE)
REFERENCE = ""
"""Key of the run that waits for all, which every comparison needs; no policy can be called so."""


@dataclass(frozen=True, slots=True)
class Match:
    """The settings of a comparison that are the same for every run.

    Attributes:
        source: run times.
        entrants: the policies.
        rounds: rounds per sample; None for the source's own number.
        late_finish: whether late workers finish their work; None for the source's own mode.
        overhead: seconds per round beside waiting; None for the source's own.
        skip: number of first rounds, the warm-up, that figures leave out.
    """

    source: Source
    entrants: Sequence[Entrant]
    rounds: int | None
    late_finish: bool | None
    overhead: Seconds | None
    skip: int

    def draw(self, seed: int) -> Draw:
        """Draw the sample of a seed, in the mode and with the overhead that are compared."""
        draw = drawn(self.source, seed, self.rounds)
        overhead = draw.overhead if self.overhead is None else self.overhead
        finish = draw.late_finish if self.late_finish is None else self.late_finish
        return replace(draw, overhead=overhead, late_finish=finish)


@dataclass(frozen=True, slots=True, eq=False)
class OneRun:
    """The figures of one run; rounds of the warm-up are left out unless said otherwise.

    Attributes:
        rate: gradients per second.
        rate_all: the same with every round counted.
        mean_value: gradients per round.
        idle: mean share of the time a worker waits for others.
        least_served: accepted share of the least-served worker over the mean of all.
        deciles: `(10,)` share of gradients accepted, by run-time decile.
        decision_ms: `(decisions,)` milliseconds of each decision.
        round_ms: mean milliseconds per round, None where nothing was timed.
        weights: mean weight of each part of the forecast.
        counts: `(rounds,)` gradients used, every round.
        elapsed: `(rounds,)` seconds from opening to close, every round.
        by_blocks: gradients over those of the best cutoffs of each block; NaN where states move by the clock.
        rushed: share of the rounds closed with fewer than a quarter of the workers; 0 where it was not counted.
    """

    rate: float
    rate_all: float
    mean_value: float
    idle: float
    least_served: float
    deciles: FloatArray
    decision_ms: FloatArray
    round_ms: float | None
    weights: dict[str, float]
    counts: IntArray
    elapsed: FloatArray
    by_blocks: float
    rushed: float = 0.0


def play_one(match: Match, seed: int, name: str) -> OneRun:
    """Play one policy or bound on one sample.

    Args:
        match: entrants and settings of the comparison.
        seed: seed of the sample.
        name: name of an entrant or a bound, or `REFERENCE`.
    """
    draw = match.draw(seed)
    if name == REFERENCE:
        refuse_unplayable(draw.table, draw.overhead)
    rushed = 0.0
    if name in BOUNDS:
        outcome, rushed = _bound(match, draw, name)
    else:
        entrant = next((one for one in match.entrants if one.name == name), wait_all())
        outcome = contest(draw.times, entrant, late_finish=draw.late_finish, overhead=draw.overhead)
    return _figures(match, draw, seed, outcome, rushed)


def wait_all() -> Entrant:
    """Return the entrant that waits for all workers."""
    return Entrant("wait-all", Policy(NoForecast(), WaitAll()))


def _bound(match: Match, draw: Draw, name: str) -> tuple[Outcome, float]:
    times, overhead, finish = draw.times, draw.overhead, draw.late_finish
    if name == INFORMED:
        assert draw.law is not None
        assert draw.hidden is not None
        informed = Entrant(INFORMED, Policy(Truth(draw.law, draw.hidden), Stopping()))
        return contest(times, informed, late_finish=finish, overhead=overhead), 0.0
    if name == CLAIRVOYANT:
        return untimed(clairvoyant(times, overhead).run), 0.0
    if name == WHOLE:
        whole = clairvoyant_whole(draw.table, overhead)
        return untimed(whole.run), whole.rushed
    best = best_static if name == STATIC else best_deadline
    return untimed(best(times, overhead, finish, match.skip).run), 0.0


def untimed(run: Run) -> Outcome:
    """Return an outcome whose decisions were not timed."""
    return Outcome(run, np.zeros(0), None)


def _figures(match: Match, draw: Draw, seed: int, outcome: Outcome, rushed: float) -> OneRun:
    run, skip = outcome.run, match.skip
    table = draw.table if draw.timeline is None else draw.timeline.met(run.opened)
    is_scored = run.rounds > skip
    return OneRun(
        rate=run.throughput(skip) if is_scored else math.nan,
        rate_all=run.throughput(0) if run.rounds else math.nan,
        mean_value=float(run.values[skip:].mean()) if is_scored else math.nan,
        idle=run.idle_share(skip) if is_scored else math.nan,
        least_served=least_served(run, table, skip),
        deciles=acceptance_by_decile(run, table, skip),
        decision_ms=outcome.decision_ms,
        round_ms=outcome.round_ms,
        weights={name: float(np.nanmean(weights[skip:])) for name, weights in run.weights.items()},
        counts=run.counts,
        elapsed=run.elapsed,
        by_blocks=_by_blocks(match, draw, seed, run),
        rushed=rushed,
    )


def _by_blocks(match: Match, draw: Draw, seed: int, run: Run) -> float:
    if draw.timeline is not None:
        return math.nan
    blocks = blocks_of(match.source, seed, match.rounds, draw.late_finish, draw.overhead, match.skip)
    return blocks.score(run)


@lru_cache(maxsize=64)
def blocks_of(
    source: Source, seed: int, rounds: int | None, finish: bool, overhead: Seconds, skip: int
) -> Blocks:
    """Return the blocks of a sample, cached for the next run on it; call `blocks_of.cache_clear()` at the end."""
    table = drawn(source, seed, rounds).table
    waiting = contest(table, wait_all(), late_finish=finish, overhead=overhead).run
    return Blocks.of(table, waiting, overhead, finish, skip)
