"""The results of a comparison as plain data, from which the table, the JSON and the page are made."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from tailcut.study.statistics import t_interval
from tailcut.types import FloatArray, IntArray, Weights

Kind: TypeAlias = Literal["policy", "other", "bound"]


@dataclass(frozen=True, slots=True)
class Spread:
    """One figure over several seeds.

    Attributes:
        mean, least, most: mean, smallest and largest value over the seeds.
        low, high: 95 % interval of the mean, by Student's t; None with one seed, or if a value is unknown.
    """

    mean: float
    least: float
    most: float
    low: float | None = None
    high: float | None = None

    @staticmethod
    def over(values: list[float]) -> Spread:
        """Return mean, smallest and largest of `values`, and the 95 % interval of their mean."""
        mean, least, most = sum(values) / len(values), min(values), max(values)
        if len(values) < 2 or not all(map(math.isfinite, values)):
            return Spread(mean, least, most)
        interval = t_interval(np.array(values))
        return Spread(mean, least, most, interval.low, interval.high)


@dataclass(frozen=True, slots=True)
class PolicyFacts:
    """The results of one policy on one source, over all seeds. A share of 1 equals the bound's rate.

    Attributes:
        policy: its name with parameters, as the user wrote it.
        kind: "policy"; "other" for policies that count parts of gradients or stale ones, which the bounds do
            not hold for; "bound" for those that need hindsight or the true law.
        throughput: gradients per second, warm-up rounds left out.
        of_clairvoyant: share of the clairvoyant's throughput (in `late=finish` mode: of the abandon bound).
        of_clairvoyant_all: the same with every round counted.
        of_informed: share of the informed bound, None where the true law is unknown.
        of_best_static: share of the best fixed cutoff in hindsight.
        of_best_deadline: share of the best fixed number of seconds in hindsight.
        mean_cutoff: gradients used per round.
        idle: mean share of the time a worker waits for others, 0..1.
        least_served: accepted gradients of the least-served worker over the mean of all workers, 0..1.
        deciles: `(10,)` share of gradients accepted, by run-time decile from fastest to slowest.
        decision_ms_p50: median milliseconds per decision, None where a bound takes none.
        decision_ms_p99: 99th percentile of the same.
        round_ms: mean milliseconds per round for learning, forecasting and deciding.
        weights: mean weight of each part of the forecast, where it is a blend of several.
        table_score: share of the better hindsight bound, best-static, best-deadline or wait-all, each as the source
            ranks it seed by seed; None where states move by the clock.
        clock_score: the same where states move by the clock; on tables gradients over those of the best
            cutoff of each 25 rounds, which count for the seconds that waiting for all takes. None where it
            was not requested.
    """

    policy: str
    kind: Kind
    throughput: Spread
    of_clairvoyant: Spread
    of_clairvoyant_all: Spread
    of_informed: Spread | None
    of_best_static: Spread
    of_best_deadline: Spread
    mean_cutoff: float
    idle: float
    least_served: float
    deciles: tuple[float, ...]
    decision_ms_p50: float | None
    decision_ms_p99: float | None
    round_ms: float | None
    weights: Weights = ()
    table_score: Spread | None = None
    clock_score: Spread | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SourceFacts:
    """All results on one source.

    Attributes:
        source: file or cluster, as the user wrote it.
        about: description of the source, one line.
        workers: number of workers.
        rounds: number of rounds, warm-up included.
        warmup: number of first rounds that the figures leave out.
        seeds: number of samples of a named cluster; 1 for a file.
        late: whether late workers "abandon" or "finish" their work.
        overhead: seconds per round beside waiting.
        idle_before: mean share of the time a worker waits for others with the policy `wait-all`, 0..1.
        policies: one entry each, bounds included.
        notes: warnings to show, whole sentences.
        seconds: `(rounds, workers)` run times of the first seed, NaN where absent, for the pictures.
        cutoffs: policy -> `(rounds,)` gradients used per round, first seed.
        closes: policy -> `(rounds,)` seconds at which each round closed after it opened, first seed.
        states: whether the hidden state of a cluster moves by "rounds", as in a table, or by the "clock".
    """

    source: str
    about: str
    workers: int
    rounds: int
    warmup: int
    seeds: int
    late: Literal["abandon", "finish"]
    overhead: float
    idle_before: float
    policies: tuple[PolicyFacts, ...]
    notes: tuple[str, ...]
    seconds: FloatArray
    cutoffs: dict[str, IntArray]
    closes: dict[str, FloatArray]
    states: Literal["rounds", "clock"] = "rounds"


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """The whole outcome of `tailcut compare`: the command that made it and what it found for each source."""

    command: str
    sources: tuple[SourceFacts, ...]
