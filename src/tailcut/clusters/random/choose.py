"""The choice of a recipe by a seed: which ingredients a random cluster has, and how much of each."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from tailcut.clusters.checks import whole
from tailcut.clusters.compound import Mixture, Scaled
from tailcut.clusters.laws import Gamma, Law, ShiftedExponential, Uniform
from tailcut.clusters.lognormal import LogNormal, ParetoTailed
from tailcut.clusters.random.noise import Content, Sleepers, Spikes
from tailcut.clusters.random.recipe import Recipe
from tailcut.clusters.random.states import Absences, SlowNodes, Spells, Step, Swing
from tailcut.types import Seconds

CHANCES: dict[str, float] = {
    "levels": 0.4,
    "content": 0.45,
    "spikes": 0.4,
    "sleepers": 0.2,
    "nodes": 0.35,
    "spells": 0.15,
    "swing": 0.2,
    "step": 0.2,
    "absences": 0.15,
    "tick": 0.2,
    "overhead": 0.3,
}
"""Probability of each ingredient, in clusters with enough workers for it (4 for nodes and absences)."""

LAWS = ("log-normal", "exponential", "gamma", "uniform", "points", "Pareto-tailed")
"""Laws of a single run time, all equally likely."""

SMALL = 0.3
"""Probability that the size is drawn from 2 to 8 workers; otherwise it is log-uniform."""

_PURPOSES = ("size", "unit", "law", *CHANCES)


def recipe_of(seed: int, n: int | None = None) -> Recipe:
    """Choose the ingredients of the cluster number `seed`.

    Each ingredient has a random stream of its own, so that another number of workers changes no other ingredient.

    Args:
        seed: number of the cluster, >= 0.
        n: workers; None takes the seed's own number.

    Example:
        >>> recipe_of(3) == recipe_of(3), recipe_of(3, n=12).n
        (True, 12)
    """
    whole("seed", seed, 0)
    streams = {purpose: np.random.default_rng([seed, k]) for k, purpose in enumerate(_PURPOSES)}
    # With a single worker there is no cutoff to decide.
    workers = _size(streams["size"]) if n is None else n
    whole("n", workers, 2)
    has = {name: bool(streams[name].random() < chance) for name, chance in CHANCES.items()}
    several = workers >= 4
    unit = _log_uniform(streams["unit"], 0.02, 20.0)
    law_name, law = _law(streams["law"])
    return Recipe(
        key=seed,
        n=workers,
        unit=unit,
        law=law,
        law_name=law_name,
        levels=_log_uniform(streams["levels"], 0.05, 0.6) if has["levels"] else 0.0,
        content=_content(streams["content"]) if has["content"] else None,
        spikes=_spikes(streams["spikes"]) if has["spikes"] else None,
        sleepers=_sleepers(streams["sleepers"], workers, unit) if has["sleepers"] else None,
        nodes=_nodes(streams["nodes"], workers) if has["nodes"] and several else None,
        spells=_spells(streams["spells"]) if has["spells"] else None,
        swing=_swing(streams["swing"]) if has["swing"] else None,
        step=_step(streams["step"]) if has["step"] else None,
        absences=_absences(streams["absences"], workers) if has["absences"] and several else None,
        tick=unit * _log_uniform(streams["tick"], 0.02, 0.3) if has["tick"] else 0.0,
        overhead=unit * float(streams["overhead"].uniform(0.01, 0.2)) if has["overhead"] else 0.0,
    )


def _size(rng: np.random.Generator) -> int:
    if rng.random() < SMALL:
        return int(rng.integers(2, 9))
    return round(_log_uniform(rng, 2, 2000))


def _law(rng: np.random.Generator) -> tuple[str, Law]:
    """Return the name of a random law, with its spread, and the law."""
    name = str(rng.choice(LAWS))
    if name == "log-normal":
        sigma = _log_uniform(rng, 0.01, 0.5)
        return f"log-normal ± {sigma:.0%}", LogNormal(1.0, sigma)
    if name == "exponential":
        scale = _log_uniform(rng, 0.05, 0.6)
        return f"exponential ± {scale:.0%}", ShiftedExponential(1 - scale * math.log(2), scale)
    if name == "gamma":
        spread = _log_uniform(rng, 0.05, 0.7)
        return f"gamma ± {spread:.0%}", Gamma(1.0, spread)
    if name == "uniform":
        half = _log_uniform(rng, 0.05, 0.6)
        return f"uniform ± {half:.0%}", Uniform(1 - half, 1 + half)
    if name == "points":
        return _points(rng)
    sigma, alpha = _log_uniform(rng, 0.02, 0.3), float(rng.uniform(1.2, 3.0))
    return f"Pareto-tailed ± {sigma:.0%}", ParetoTailed(1.0, sigma, alpha, _log_uniform(rng, 0.01, 0.1))


def _points(rng: np.random.Generator) -> tuple[str, Law]:
    """Return the name of a law of two or three values with little noise around them, and the law."""
    point = LogNormal(1.0, _log_uniform(rng, 0.002, 0.02))
    values = [1.0]
    for _ in range(int(rng.integers(1, 3))):
        values.append(values[-1] * float(rng.uniform(1.2, 2.5)))
    odds = np.append(1.0, rng.uniform(0.05, 0.8, len(values) - 1))
    shares = tuple((odds / odds.sum()).tolist())
    return f"{len(values)}-point", Mixture(tuple(Scaled(point, value) for value in values), shares)


def _content(rng: np.random.Generator) -> Content:
    kind: Literal["gamma", "log-normal"] = "gamma" if rng.random() < 0.5 else "log-normal"
    memory = float(rng.uniform(0.3, 0.95)) if rng.random() < 0.4 else 0.0
    return Content(kind, _log_uniform(rng, 0.1, 0.6), memory)


def _spikes(rng: np.random.Generator) -> Spikes:
    p = _log_uniform(rng, 0.003, 0.15)
    if rng.random() < 0.3:
        return Spikes(p, float(rng.uniform(1.5, 4.0)), float(rng.uniform(1.2, 3.0)))
    return Spikes(p, _log_uniform(rng, 2.0, 20.0))


def _sleepers(rng: np.random.Generator, n: int, unit: Seconds) -> Sleepers:
    count = max(1, round(n * _log_uniform(rng, 0.02, 0.3)))
    return Sleepers(count, unit * _log_uniform(rng, 0.3, 5.0))


def _nodes(rng: np.random.Generator, n: int) -> SlowNodes:
    count = int(np.clip(round(n / _log_uniform(rng, 2, 64)), 2, n // 2))
    return SlowNodes(
        count,
        p_slow=_log_uniform(rng, 0.005, 0.05),
        p_recover=_log_uniform(rng, 0.03, 0.2),
        factor=float(rng.uniform(1.3, 4.0)),
        named=bool(rng.random() < 0.5),
    )


def _spells(rng: np.random.Generator) -> Spells:
    share = float(rng.uniform(0.05, 0.3))
    return Spells(share, _log_uniform(rng, 15.0, 150.0), factor=_log_uniform(rng, 1.5, 6.0))


def _swing(rng: np.random.Generator) -> Swing:
    shape: Literal["sine", "linear"] = "sine" if rng.random() < 0.5 else "linear"
    return Swing(_log_uniform(rng, 1.3, 3.0), round(_log_uniform(rng, 40, 400)), shape)


def _step(rng: np.random.Generator) -> Step:
    share = 1.0 if rng.random() < 0.5 else float(rng.uniform(0.1, 0.9))
    return Step(round(_log_uniform(rng, 20, 120)), share, factor=_log_uniform(rng, 0.4, 4.0))


def _absences(rng: np.random.Generator, n: int) -> Absences:
    safe = max(2, math.ceil(0.3 * n))
    return Absences(_log_uniform(rng, 0.002, 0.03), p_return=_log_uniform(rng, 0.03, 0.3), safe=safe)


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(low * (high / low) ** rng.random())
