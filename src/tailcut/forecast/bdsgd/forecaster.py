"""The published forecaster: joint draws of all workers' next run times from the deep state-space model."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import final

import numpy as np
import torch
from scipy.special import log_ndtr, logsumexp, ndtr, ndtri_exp

from tailcut.errors import ParameterError
from tailcut.forecast.base import Forecaster
from tailcut.forecast.bdsgd.model import BdsgdModel
from tailcut.forecast.bdsgd.networks import named, network
from tailcut.forecast.bdsgd.state_space import StateSpace, one_part, one_thread
from tailcut.forecast.carry import carry_over
from tailcut.order import time_grid
from tailcut.types import BoolArray, FloatArray, Forecast, Roster, RunTimes

SCENARIOS = 16
GRID = 64


@dataclass(frozen=True, slots=True, eq=False)
class BdsgdBelief:
    """The last rounds, and how many there were.

    Attributes:
        rounds: at most `window` vectors `(n,)` of seconds in the order of the model's workers; imputed where a
            worker was cut or absent.
        counter: rounds learned, from which every draw is seeded.
    """

    rounds: tuple[FloatArray, ...] = ()
    counter: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """The posterior predictive as an equal mixture of normals: `(samples, n)` means and deviations, seconds.

    Workers are independent within a component, dependent through it. Where the emission is a mixture itself, each
    worker's part of it is drawn with the component.
    """

    mean: FloatArray
    sd: FloatArray

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """Return one joint draw per component, `(samples, n)` seconds."""
        out: FloatArray = self.mean + self.sd * rng.standard_normal(self.mean.shape)
        return out

    def log_score(self, seconds: FloatArray, observed: BoolArray) -> FloatArray:
        """Return the log density of each worker's marginal at its run time, log P(longer) where it was cut.

        Args:
            seconds: `(n,)`.
            observed: `(n,)` whether the run time was seen; otherwise it exceeds `seconds`.

        Returns:
            `(n,)`; densities per second.
        """
        z = (seconds - self.mean) / self.sd
        density = -0.5 * z**2 - np.log(self.sd) - 0.5 * math.log(2 * math.pi)
        out: FloatArray = logsumexp(np.where(observed, density, log_ndtr(-z)), axis=0) - math.log(len(z))
        return out

    def draw_above(self, bounds: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return a draw of each worker's own marginal given that it exceeds its bound.

        A component's odds are multiplied by its chance of exceeding the bound, then its tail is drawn from.

        Args:
            bounds: `(m, n)` seconds.
            rng: the only source of randomness.

        Returns:
            `(m, n)` seconds, above the bounds.
        """
        log_odds = log_ndtr((self.mean - bounds[:, None]) / self.sd)  # (m, samples, n)
        chosen = np.argmax(log_odds + rng.gumbel(size=log_odds.shape), axis=1)
        mean, sd = (np.take_along_axis(part, chosen, axis=0) for part in (self.mean, self.sd))
        beyond = log_ndtr((mean - bounds) / sd)
        tail = ndtri_exp(np.minimum(beyond + np.log1p(-rng.random(bounds.shape)), -1e-16))
        out: FloatArray = np.maximum(mean - sd * tail, bounds * (1 + 2.0**-20))
        return out


@final
@dataclass(frozen=True, slots=True)
class Bdsgd(Forecaster[BdsgdBelief]):
    """Teng & Wood (2018, arXiv 1803.04209): window in, joint posterior-predictive draws out, sorted and averaged.

    The model knows the workers it was trained on and no others: this is the published model's limit. A newcomer is
    drawn from the known workers at random, a known worker that is away is imputed as if it had been cut at once; so
    forecasts do not fail, but they know nothing of newcomers. Late reports are not used, as in the paper.

    Draws are seeded by `seed` and the number of rounds learned, so the same rounds always give the same
    forecast.

    Attributes:
        model: the trained model.
        samples: number of joint draws per forecast.
        seed: seed of the draws.
    """

    model: BdsgdModel
    samples: int = 128
    seed: int = 0

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise ParameterError(f"samples must be at least 1, but got {self.samples}. Try samples=128.")

    def start(self) -> BdsgdBelief:
        """Return a belief of no rounds."""
        return BdsgdBelief()

    def learn(self, belief: BdsgdBelief, seen: RunTimes) -> BdsgdBelief:
        """Append the round, cut workers imputed by a draw above what they are known to exceed."""
        if seen.late:
            return belief
        model = self.model
        rng = self._rng(belief, 1)
        seconds, bounds = np.full(model.sizes.n, np.nan), np.zeros(model.sizes.n)
        known, place = self._places(seen.workers)
        sure = known & seen.observed
        seconds[place[sure]] = seen.seconds[sure]
        bounds[place[known & ~seen.observed]] = seen.seconds[known & ~seen.observed]
        cut = np.isnan(seconds)
        if cut.any():
            least = np.maximum(bounds, model.floor * model.scale)
            # Only the cut workers: for thousands of workers this is most of the work.
            components = self._components(belief) or self._before_any_window()
            few = Components(components.mean[:, cut], components.sd[:, cut])
            seconds[cut] = few.draw_above(least[None, cut], rng)[0]
        return BdsgdBelief((*belief.rounds, seconds)[-model.sizes.window :], belief.counter + 1)

    def log_score(self, belief: BdsgdBelief, seen: RunTimes) -> float | None:
        """Score the forecast of a round: the mean log density over its workers, for run times in the model's unit.

        Run times beyond what training has seen are read as its ceiling, as the model reads them.

        Returns:
            None before there is a whole window, and where no worker of the round is known.
        """
        components = self._components(belief)
        known, place = self._places(seen.workers)
        if components is None or not known.any():
            return None
        mine = Components(components.mean[:, place[known]], components.sd[:, place[known]])
        read = np.minimum(seen.seconds[known], self.model.ceiling * self.model.scale)
        observed = seen.observed[known]
        # A density per second becomes one per unit; a probability of a cut worker has no unit.
        scores = mine.log_score(read, observed) + math.log(self.model.scale) * observed
        return float(scores.mean())

    def forecast(self, belief: BdsgdBelief, roster: Roster) -> Forecast | None:
        """Forecast order statistics by sorted draws, and a scenario of normal curves for some draws."""
        components = self._components(belief)
        if components is None or len(roster) == 0:
            return None
        rng = self._rng(belief, 2)
        components = self._of_roster(components, roster, rng)
        least = self.model.floor * self.model.scale
        draws = np.maximum(components.draw(rng), least)
        busy = ~np.isnan(roster.busy)
        if busy.any():
            spent = np.broadcast_to(roster.busy[busy], (self.samples, int(busy.sum())))
            old = Components(components.mean[:, busy], components.sd[:, busy])
            draws[:, busy] += old.draw_above(np.maximum(spent, least), rng) - spent
        order_means = np.sort(draws, axis=1).mean(axis=0)
        return replace(carry_over(self._curves(components, roster), roster.busy), order_means=order_means)

    def _components(self, belief: BdsgdBelief) -> Components | None:
        """Return the mixture that is the posterior predictive, or None before a whole window was seen."""
        model = self.model
        if len(belief.rounds) < model.sizes.window:
            return None
        rows = np.minimum(np.stack(belief.rounds) / model.scale, model.ceiling)
        module = _built(model)
        generator = torch.Generator().manual_seed(int(self._rng(belief, 0).integers(2**63)))
        with one_thread(), torch.no_grad():
            states = module.next_states(torch.tensor(rows, dtype=torch.float32), self.samples, generator)
            law = one_part(module.emission(states), generator)
        mean, sd = (part.numpy().astype(np.float64) * model.scale for part in (law.mean, law.stddev))
        return Components(mean, sd)

    def _before_any_window(self) -> Components:
        """Return each worker's own moments in training."""
        moments = _built(self.model).state_dict()
        mean, sd = (
            moments[f"inference.{name}"].numpy().astype(np.float64) * self.model.scale
            for name in ("centre", "spread")
        )
        return Components(mean[None], sd[None])

    def _of_roster(self, components: Components, roster: Roster, rng: np.random.Generator) -> Components:
        """Return the columns in the roster's order; an unknown worker has a random known one in each draw."""
        known, place = self._places(roster.workers)
        there = place[known] if known.any() else np.arange(self.model.sizes.n)
        shape = (self.samples, len(roster))
        column = np.where(known, place, there[rng.integers(len(there), size=shape)])
        mean, sd = (np.take_along_axis(part, column, axis=1) for part in (components.mean, components.sd))
        return Components(mean, sd)

    def _curves(self, components: Components, roster: Roster) -> Forecast:
        """Return survival curves with one scenario, of independent workers, for each first component."""
        mean, sd = components.mean[:SCENARIOS], components.sd[:SCENARIOS]
        typical = np.concatenate([(mean + sd * z).ravel() for z in (-3.0, -1.0, 0.0, 1.0, 3.0, 5.0)])
        least = self.model.floor * self.model.scale
        # No worker is in before the floor, as in the draws; under a normal law alone some would be.
        times = np.concatenate([[least * (1 - 2.0**-10)], time_grid(np.maximum(typical, least), GRID)])
        survival = ndtr((mean[:, :, None] - times) / sd[:, :, None])
        survival[:, :, 0] = 1.0
        weights = np.full((1, len(mean)), 1.0 / len(mean))
        return Forecast(roster.workers, times, survival, weights, np.zeros(len(roster), dtype=np.int64))

    def _places(self, workers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return whether each of these ids is known, and its column."""
        known_ids = self.model.workers
        place = np.minimum(np.searchsorted(known_ids, workers), len(known_ids) - 1)
        return known_ids[place] == workers, place

    def _rng(self, belief: BdsgdBelief, purpose: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, belief.counter, purpose))


@lru_cache(maxsize=8)
def _built(model: BdsgdModel) -> StateSpace:
    """Return the torch module of a model, made once: models are told apart by identity and never change."""
    return network(model.sizes, named(model.sizes, model.weights))
