"""Run-time tables that are made to mislead a policy, for tests of its regret against the best fixed choice.

Each function is `(rounds, n, rng) -> Table` with further keywords, draws a whole table without nodes, and needs at
least two workers (`heavy_tail` one). The docstrings say which fixed choice is the best and how a policy is misled.
`ADVERSARIES` lists them all; `regret` compares a run with the best fixed choice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from tailcut.bounds import best_deadline, best_static
from tailcut.engines.simulated import Run, first_arrivals
from tailcut.table import Table
from tailcut.types import FloatArray, Seconds

Adversary: TypeAlias = Callable[[int, int, np.random.Generator], Table]

NOISE = 0.01
"""Standard deviation of the logarithm of every run time, so that no two are equal."""
SLOW = 9.0
"""Run time of a straggler, as a multiple of the others' run time."""


def _noise(rounds: int, n: int, rng: np.random.Generator) -> FloatArray:
    factors: FloatArray = np.exp(NOISE * rng.standard_normal((rounds, n)))
    return factors


def _random_workers(rounds: int, n: int, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return `(rounds, n)` flags, `counts[t]` of them set in round t, at random."""
    flags: np.ndarray = np.argsort(rng.random((rounds, n)), axis=1) < counts[:, None]
    return flags


def switching(rounds: int, n: int, rng: np.random.Generator, every: int = 25) -> Table:
    """Draw rounds in which the best fixed choice changes every `every` rounds.

    For `every` rounds all workers take about 1 second: waiting for all is best, and the cutoff 1 is the worst. For the
    next `every` rounds all but the first worker are 9 times slower: the cutoff 1 is best, unless n is above 9. Then
    half of the workers are slow: the cutoff n / 2 is best. A policy that learns from older rounds is always late.
    """
    phase = (np.arange(rounds) // every) % 3
    slow = np.zeros((rounds, n), dtype=bool)
    slow[phase == 1, 1:] = True
    slow[phase == 2, n - n // 2 :] = True
    return Table.dense(np.where(slow, SLOW, 1.0) * _noise(rounds, n, rng), source="switching")


def trap(rounds: int, n: int, rng: np.random.Generator, until: int | None = None, bait: float = 3.0) -> Table:
    """Draw rounds that reward an early close until round `until`, and punish it from then on.

    Up to `until` (a quarter of the rounds by default) half of the workers, always the same, are `bait` times slower
    than the others: closing at the half is best. From then on the same half takes 1 second and the others, which a
    policy has learned to be fast, are ahead by 5 % only. A policy that still closes at the half loses half of its rate;
    as it cuts the slow half in every round, it does not see that half become fast.
    """
    begin = rounds // 4 if until is None else until
    slow = np.arange(n) >= n - n // 2
    before, after = np.where(slow, bait, 1.0), np.where(slow, 1.0, 0.95)
    level = np.where(np.arange(rounds)[:, None] < begin, before, after)
    return Table.dense(level * _noise(rounds, n, rng), source="trap")


def mirage(rounds: int, n: int, rng: np.random.Generator, depth: float = 0.4) -> Table:
    """Draw rounds in which the first arrival says nothing of when the others follow.

    Worker 0 always arrives after `depth` seconds. In a random half of the rounds the others follow at 1 second, in the
    other half at 9 seconds. Nothing tells which until second 1 has passed. The best fixed deadline is a little above
    1 second; every fixed cutoff is worse.
    """
    far = rng.random((rounds, 1)) < 0.5
    seconds = np.where(far, SLOW, 1.0) * np.ones((rounds, n))
    seconds[:, 0] = depth
    return Table.dense(seconds * _noise(rounds, n, rng), source="mirage")


def alternating(rounds: int, n: int, rng: np.random.Generator, factor: float = SLOW) -> Table:
    """Draw rounds in which the best choice of the round before is the worst.

    In even rounds half of the workers are `factor` times slower and in odd rounds none is. Closing at the half is best
    in even rounds; in odd rounds it loses half of the rate. Waiting for all is best in odd rounds, and loses most of
    the rate in even ones. In addition the slow half changes sides: a worker that was slow in the last even round is
    fast in the next one. Following the last round is always wrong; the best fixed choice is a deadline or a cutoff.
    """
    row, worker = np.arange(rounds)[:, None], np.arange(n)
    low = worker < n // 2
    side = np.where((row // 2) % 2 == 0, low, worker >= n - n // 2)
    slow = (row % 2 == 0) & side
    return Table.dense(np.where(slow, factor, 1.0) * _noise(rounds, n, rng), source="alternating")


def anti_correlated(rounds: int, n: int, rng: np.random.Generator, factor: float = 4.0) -> Table:
    """Draw a common factor that alternates: a round after a long one is short, and the other way round.

    All workers share the factor, `factor` or 1, so that waiting for all is best throughout. A policy that expects the
    next round to be as long as the last one closes every second round too early.
    """
    common = np.where(np.arange(rounds)[:, None] % 2 == 0, factor, 1.0)
    return Table.dense(common * _noise(rounds, n, rng), source="anti-correlated")


def heavy_tail(
    rounds: int, n: int, rng: np.random.Generator, chance: float = 0.002, factor: float = 1000.0
) -> Table:
    """Draw equal workers, each `factor` times slower with a small probability.

    Waiting for all is best in nearly all rounds, and one round in which it is not costs more than all the others
    together. A mean of past run times says nothing after one of them.
    """
    slow = rng.random((rounds, n)) < chance
    return Table.dense(np.where(slow, factor, 1.0) * _noise(rounds, n, rng), source="heavy tail")


def random_sleepers(rounds: int, n: int, rng: np.random.Generator) -> Table:
    """Draw for each round afresh how many workers sleep, from none to all but one, and which.

    No past round says anything of the next one. A fixed deadline a little above 1 second is best.
    """
    asleep = _random_workers(rounds, n, rng.integers(0, n, rounds), rng)
    return Table.dense(np.where(asleep, SLOW, 1.0) * _noise(rounds, n, rng), source="random sleepers")


def creeping(rounds: int, n: int, rng: np.random.Generator, growth: float = 1.05) -> Table:
    """Draw a common factor that grows by 5 % from round to round for 50 rounds, falls back to 1 at once, and again.

    Waiting for all is best throughout. A deadline learned from the last rounds is always a little too early, and what
    is then cut cannot teach that it was.
    """
    common = growth ** (np.arange(rounds)[:, None] % 50)
    return Table.dense(common * _noise(rounds, n, rng), source="creeping")


ADVERSARIES: dict[str, Adversary] = {
    "switching": switching,
    "trap": trap,
    "mirage": mirage,
    "alternating": alternating,
    "anti-correlated": anti_correlated,
    "heavy tail": heavy_tail,
    "random sleepers": random_sleepers,
    "creeping": creeping,
}
"""Every adversary by its name."""


def best_fixed_rate(table: Table, overhead: Seconds = 0.0, skip: int = 0) -> float:
    """Return the rate of the best fixed cutoff, the best fixed deadline or of waiting for all, after `skip` rounds."""
    runs = (
        best_static(table, overhead, skip=skip).run,
        best_deadline(table, overhead, skip=skip).run,
        first_arrivals(table, table.workers, overhead),
    )
    return max(run.throughput(skip) for run in runs)


def regret(run: Run, table: Table, skip: int = 0) -> float:
    """Return the part of the best fixed choice's rate that a run lacks; negative where it is better."""
    return 1.0 - run.throughput(skip) / best_fixed_rate(table, run.overhead, skip)


def regret_in_rounds(run: Run, table: Table) -> FloatArray:
    """Return `(rounds,)` how many mean rounds of the best fixed choice a run is behind after each round.

    At the price of a second that the best fixed choice sets, λ, a run has gained Σ (count − λ·seconds); what is missing
    is divided by the gradients of a mean round. A bound on regret bounds the largest of them.
    """
    price = best_fixed_rate(table, run.overhead)
    gains = run.counts - price * (run.elapsed + run.overhead)
    behind: FloatArray = -np.cumsum(gains) / float(run.counts.mean())
    return behind
