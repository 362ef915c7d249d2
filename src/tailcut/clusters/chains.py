"""Two-state Markov chains: machines that slow down and recover, workers that fail and return."""

from __future__ import annotations

import numpy as np

from tailcut.types import BoolArray


def two_state(start: BoolArray, steps: int, p_on: float, p_off: float, rng: np.random.Generator) -> BoolArray:
    """Draw independent chains that switch on with probability `p_on` per step and off with `p_off`.

    Args:
        start: `(k,)` true for each chain that is on before the first step.
        steps: how many steps to draw.
        p_on: probability of off -> on.
        p_off: probability of on -> off.
        rng: source of randomness.

    Returns:
        `(steps + 1, k)` states: row 0 is `start`, row t the state after t steps.
    """
    u = rng.random((steps, len(start)))
    turns_on, stays_on = u < p_on, u >= p_off
    states = np.empty((steps + 1, len(start)), dtype=np.bool_)
    states[0] = start
    for t in range(steps):
        states[t + 1] = np.where(states[t], stays_on[t], turns_on[t])
    return states


def stationary_start(k: int, p_on: float, p_off: float, rng: np.random.Generator) -> BoolArray:
    """Draw `(k,)` states from the stationary law: on with probability p_on / (p_on + p_off)."""
    start: BoolArray = rng.random(k) < p_on / (p_on + p_off)
    return start


def longer(states: BoolArray, steps: int, p_on: float, p_off: float, rng: np.random.Generator) -> BoolArray:
    """Return `(steps + 1, k)` states: the given ones of `two_state`, continued where they are too few."""
    more = max(steps + 1 - len(states), 0)
    later = two_state(states[-1], more, p_on, p_off, rng)[1:]
    return np.concatenate([states, later])[: steps + 1]
