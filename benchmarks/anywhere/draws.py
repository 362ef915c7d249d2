"""Run-time laws for the section `laws`: plain functions from rounds, workers and a generator to run times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tailcut.clusters import ParetoTailed
from tailcut.table import Table
from tailcut.types import FloatArray

Draw: TypeAlias = Callable[[int, int, np.random.Generator], FloatArray]
"""Rounds, workers and a generator to `(rounds, workers)` seconds."""


@dataclass(frozen=True, slots=True)
class RunTimeLaw:
    """A law of whole tables.

    Attributes:
        letter: short name; also part of the seed.
        about: one line for the tables.
        draw: draws run times.
    """

    letter: str
    about: str
    draw: Draw

    @property
    def label(self) -> str:
        """The name in tables."""
        return f"{self.letter}: {self.about}"

    def table(self, rounds: int, n: int, seed: int) -> Table:
        """Draw a table without nodes. Each law, size and seed has a stream of its own."""
        rng = np.random.default_rng([seed, ord(self.letter), n])
        return Table.dense(self.draw(rounds, n, rng), source=self.label)


def log_normal(rng: np.random.Generator, sigma: float, shape: tuple[int, ...]) -> FloatArray:
    """Draw log-normal factors with median 1."""
    factors: FloatArray = np.exp(sigma * rng.standard_normal(shape))
    return factors


def autoregressive(rng: np.random.Generator, rounds: int, rho: float, sd: float) -> FloatArray:
    """Draw `(rounds, 1)` factors exp(a), a autoregressive of order 1 with stationary standard deviation `sd`."""
    shocks = rng.standard_normal(rounds)
    state = np.empty(rounds)
    state[0] = sd * shocks[0]
    for t in range(1, rounds):
        state[t] = rho * state[t - 1] + np.sqrt(1.0 - rho**2) * sd * shocks[t]
    factors: FloatArray = np.exp(state)[:, None]
    return factors


def gamma_work(rounds: int, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw run times whose common work differs from round to round: Gamma(8)/8, own noise 3 %."""
    return rng.gamma(8.0, 1.0 / 8.0, (rounds, 1)) * log_normal(rng, 0.03, (rounds, n))


def gamma_work_and_slow(rounds: int, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw as `gamma_work`; each worker is 5 times slow with probability 5 %."""
    seconds = gamma_work(rounds, n, rng)
    slow: FloatArray = np.where(rng.random((rounds, n)) < 0.05, 5.0, 1.0)
    return seconds * slow


def small_common(rounds: int, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw a common factor of ± 5 % and own noise of 1 %."""
    return log_normal(rng, 0.05, (rounds, 1)) * log_normal(rng, 0.01, (rounds, n))


def two_times_slow(rounds: int, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw 1 second, or 2 with probability 30 %. Many workers arrive at the same instant."""
    return np.where(rng.random((rounds, n)) < 0.3, 2.0, 1.0)


def coarse_clock(rounds: int, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw log-normal times, sigma .3, rounded up to quarters of a second."""
    quarters: FloatArray = np.ceil(4.0 * log_normal(rng, 0.3, (rounds, n)))
    return quarters / 4.0


def three_points(rounds: int, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw 1, 1.5 or 4 seconds with probabilities .7, .25 and .05."""
    return rng.choice([1.0, 1.5, 4.0], (rounds, n), p=[0.7, 0.25, 0.05])


def independent_log_normal(rounds: int, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw independent log-normal times, sigma .35."""
    return log_normal(rng, 0.35, (rounds, n))


def shifted_exponential(rounds: int, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw 1 second plus an exponential of mean .25."""
    return 1.0 + rng.exponential(0.25, (rounds, n))


def pareto_tail(rounds: int, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw a narrow log-normal body with a Pareto tail."""
    return ParetoTailed().sample(rng, (rounds, n))


def wandering_common(rounds: int, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw a common factor that wanders (AR(1), rho .9, sd .2) and own noise of 5 %."""
    return autoregressive(rng, rounds, 0.9, 0.2) * log_normal(rng, 0.05, (rounds, n))


def short_or_long(rounds: int, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw rounds that are short (60 %) or 3 times as long for all workers, own noise 3 %."""
    length: FloatArray = np.where(rng.random((rounds, 1)) < 0.6, 1.0, 3.0)
    return length * log_normal(rng, 0.03, (rounds, n))


def constant(rounds: int, n: int, rng: np.random.Generator) -> FloatArray:
    """Return 1 second for every worker and round."""
    del rng
    return np.ones((rounds, n))


def large_common(rounds: int, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw a common log-normal factor, sigma .5, and own noise, sigma .2."""
    return log_normal(rng, 0.5, (rounds, 1)) * log_normal(rng, 0.2, (rounds, n))


def fixed_levels(rounds: int, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw a level for each worker, log-normal .3, that stays; own noise 5 %."""
    return log_normal(rng, 0.3, (1, n)) * log_normal(rng, 0.05, (rounds, n))


LAWS = (
    RunTimeLaw("a", "common work Gamma(8)/8, noise 3 %", gamma_work),
    RunTimeLaw("b", "as a, each 5 % likely 5 × slow", gamma_work_and_slow),
    RunTimeLaw("c", "common ± 5 %, noise 1 %", small_common),
    RunTimeLaw("d", "each 30 % likely 2 × slow, ties", two_times_slow),
    RunTimeLaw("e", "log-normal .3 on a coarse clock", coarse_clock),
    RunTimeLaw("f", "three points 1, 1.5, 4", three_points),
    RunTimeLaw("g", "i.i.d. log-normal .35", independent_log_normal),
    RunTimeLaw("h", "1 + exponential of .25", shifted_exponential),
    RunTimeLaw("i", "Pareto tail", pareto_tail),
    RunTimeLaw("j", "common AR(1) .9, .2, noise 5 %", wandering_common),
    RunTimeLaw("k", "rounds short or 3 × long, noise 3 %", short_or_long),
    RunTimeLaw("l", "constant", constant),
    RunTimeLaw("m", "common log-normal .5, noise .2", large_common),
    RunTimeLaw("n", "fixed levels .3, noise .05", fixed_levels),
)
"""Every law of the section `laws`."""
