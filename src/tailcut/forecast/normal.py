"""Independent, identical normal run times: the baseline "Elfving" of Teng & Wood (arXiv 1803.04209)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import final

import numpy as np

from tailcut.errors import ParameterError
from tailcut.forecast.base import Forecaster
from tailcut.forecast.carry import carry_over
from tailcut.order import elfving
from tailcut.types import FloatArray, Forecast, Roster, RunTimes

GRID = 96
EM_STEPS = 20


@final
@dataclass(frozen=True, slots=True)
class Normal(Forecaster[tuple[RunTimes, ...]]):
    """Normal with the moments of the last `window` rounds, order statistics by Elfving's formula.

    Censored times enter through the censored normal likelihood (its EM algorithm); they are neither dropped nor
    drawn. Run times are positive and a normal law is not: this is the published baseline, not our choice.

    Where the spread is large the formula promises first arrivals at or below 0 s, and a cutoff per such a second has
    no maximum. The paper does not say what it did then. Here no arrival is expected sooner than the fastest run time
    of the window, and the law has no mass below it.
    """

    window: int = 20

    def __post_init__(self) -> None:
        if self.window < 1:
            raise ParameterError(f"window must be at least 1 round, but got {self.window}. Try window=20.")

    def start(self) -> tuple[RunTimes, ...]:
        """Return a belief of no rounds."""
        return ()

    def learn(self, belief: tuple[RunTimes, ...], seen: RunTimes) -> tuple[RunTimes, ...]:
        """Keep the last `window` records."""
        return (*belief, seen)[-self.window :]

    def forecast(self, belief: tuple[RunTimes, ...], roster: Roster) -> Forecast | None:
        """Return one fitted normal for all, E[x_(c)] = max(μ + σ·Φ⁻¹((c − π/8)/(n − π/4 + 1)), fastest)."""
        if sum(int(seen.observed.sum()) for seen in belief) < 2:
            return None
        seconds = np.concatenate([seen.seconds for seen in belief])
        observed = np.concatenate([seen.observed for seen in belief])
        mean, sd = censored_normal(seconds, observed)
        fastest = float(seconds[observed].min())
        low = max(mean - 4 * sd, fastest)
        # Survival falls linearly from 1 at time 0, so a grid time just below the fastest one keeps it at 1 until then.
        times = np.concatenate([[low * (1 - 2.0**-10)], np.linspace(low, mean + 5 * sd, GRID - 1)])
        law = NormalDist(mean, sd)
        curve = np.array([1.0, *(1.0 - law.cdf(t) for t in times[1:])])
        out = Forecast.independent(roster.workers, times, curve)
        means = np.maximum(mean + sd * elfving(len(roster)), fastest)
        return carry_over(replace(out, order_means=means), roster.busy)


def censored_normal(seconds: FloatArray, observed: np.ndarray) -> tuple[float, float]:
    """Return the mean and standard deviation that maximize Σ_seen log f + Σ_unseen log(1 − F), by EM."""
    seen = seconds[observed]
    mean, sd = float(seen.mean()), _positive(float(seen.std()), float(seen.mean()))
    bounds, counts = np.unique(seconds[~observed], return_counts=True)
    for _ in range(EM_STEPS if len(bounds) else 0):
        first, second = _beyond(bounds, mean, sd)
        total = len(seconds)
        mean_new = (float(seen.sum()) + float((counts * first).sum())) / total
        square = (float((seen**2).sum()) + float((counts * second).sum())) / total
        mean, sd = mean_new, _positive(math.sqrt(max(square - mean_new**2, 0.0)), mean_new)
    return mean, sd


def _positive(sd: float, mean: float) -> float:
    """Return `sd`, at least a small part of the mean: a normal needs spread where run times are equal."""
    return max(sd, mean * 2.0**-10)


def _beyond(bounds: FloatArray, mean: float, sd: float) -> tuple[FloatArray, FloatArray]:
    """Return the first and second moment of a normal given that it exceeds each bound."""
    z = (bounds - mean) / sd
    density = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    above = np.array([0.5 * math.erfc(v / math.sqrt(2)) for v in z])
    # Far beyond the mean the ratio tends to z + 1/z (Mills).
    hazard = np.where(above > 1e-12, density / np.maximum(above, 1e-300), z + 1 / np.maximum(z, 1.0))
    first = mean + sd * hazard
    second = mean**2 + sd**2 + sd * hazard * (bounds + mean)
    return first, second
