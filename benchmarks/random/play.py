"""One policy on one random cluster, by rounds and by the clock, beside the fixed choices in hindsight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from tailcut import names
from tailcut.bounds import best_deadline, best_static, clairvoyant
from tailcut.bounds.sorted_rounds import SortedRounds
from tailcut.engines.simulated import Run
from tailcut.study.clock_score import Blocks
from tailcut.study.compare import warmup_of
from tailcut.study.contest import contest
from tailcut.study.one_run import wait_all
from tailcut.study.source import Draw
from tailcut.types import Seconds

ROUNDS, LARGE_WORKERS, LARGE_ROUNDS = 300, 500, 150
"""Rounds of a cluster, the workers from which on it is large, and the rounds of a large one."""

States: TypeAlias = Literal["rounds", "clock"]


@dataclass(frozen=True, slots=True)
class Rates:
    """Gradients per second after the warm-up, and rounds that were closed far too early.

    Attributes:
        policy: the policy's own.
        static: rate of the best fixed cutoff in hindsight.
        deadline: rate of the best fixed deadline in hindsight.
        waiting: rate of wait-all.
        clairvoyant: rate of the bound that knows each round's run times in advance.
        by_blocks: the policy's clock score on the table, from blocks of rounds; None where states move by the clock.
        collapsed: rounds closed with fewer than half of the arrivals of the best deadline, where the clairvoyant takes
            half of them or more.
    """

    policy: float
    static: float
    deadline: float
    waiting: float
    clairvoyant: float
    by_blocks: float | None
    collapsed: tuple[int, ...]

    @property
    def score(self) -> float:
        """Share of the better hindsight bound."""
        return self.policy / max(self.static, self.deadline, self.waiting)

    @property
    def of_wait_all(self) -> float:
        """Share of waiting for all."""
        return self.policy / self.waiting


@dataclass(frozen=True, slots=True)
class Cluster:
    """One random cluster and how it was played.

    Attributes:
        seed: number of the cluster, which is its seed.
        workers: number of workers.
        about: description of the cluster.
        by_rounds: states that move by rounds, as in a table.
        by_clock: states that move by the clock.
    """

    seed: int
    workers: int
    about: str
    by_rounds: Rates
    by_clock: Rates

    @property
    def table_score(self) -> float:
        """Share of the better hindsight bound on the table."""
        return self.by_rounds.score

    @property
    def clock_score(self) -> float:
        """Share of the better hindsight bound by the clock."""
        return self.by_clock.score

    @property
    def collapsed(self) -> int:
        """Rounds that were closed far too early, in both modes."""
        return len(self.by_rounds.collapsed) + len(self.by_clock.collapsed)


def size_of(seed: int) -> int:
    """Return how many workers a cluster has; the largest take longest."""
    return names.source(f"random:seed={seed}").size(None)[1]


def play(seed: int, policy: str, rounds: int | None = None) -> Cluster:
    """Play one policy on one cluster in both modes; the sample has the seed of the cluster."""
    spec = f"random:seed={seed}"
    source = names.source(spec)
    workers = source.size(None)[1]
    length = rounds or (LARGE_ROUNDS if workers > LARGE_WORKERS else ROUNDS)
    by_clock = names.source(f"{spec}:states=clock").draw_by_clock(seed, length)
    return Cluster(
        seed, workers, source.about, _rates(source.draw(seed, length), policy), _rates(by_clock, policy)
    )


def _rates(draw: Draw, policy: str) -> Rates:
    times, overhead = draw.times, draw.overhead
    skip = warmup_of(None, times.rounds)
    run = contest(times, names.entrant(policy), late_finish=False, overhead=overhead).run
    waiting = contest(times, wait_all(), late_finish=False, overhead=overhead).run
    deadline = best_deadline(times, overhead, skip=skip)
    blocks = None if draw.timeline else Blocks.of(draw.table, waiting, overhead, False, skip)
    return Rates(
        policy=run.throughput(skip),
        static=best_static(times, overhead, skip=skip).run.throughput(skip),
        deadline=deadline.run.throughput(skip),
        waiting=waiting.throughput(skip),
        clairvoyant=clairvoyant(times, overhead).run.throughput(skip),
        by_blocks=blocks.score(run) if blocks else None,
        collapsed=collapsed(draw, run, deadline.setting, overhead, skip),
    )


def collapsed(draw: Draw, run: Run, deadline: Seconds, overhead: Seconds, skip: int) -> tuple[int, ...]:
    """Return the rounds closed with fewer than half of a deadline's arrivals where the clairvoyant's are not.

    All are compared in the rounds that the run met.

    Args:
        draw: sample that was played.
        run: run of the policy.
        deadline: seconds after which the deadline closes a round.
        overhead: seconds between a close and the next opening.
        skip: rounds of the warm-up, which are left out.
    """
    met = draw.table if draw.timeline is None else draw.timeline.met(run.opened)
    half = SortedRounds.of(met).cut_at_time(deadline)[0] / 2
    too_few = (run.counts < half) & (clairvoyant(met, overhead).run.counts >= half)
    return tuple(int(row) for row in np.flatnonzero(too_few) if row >= skip)
