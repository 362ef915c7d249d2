"""The decrease of the loss by k gradients at a fixed learning rate: the descent lemma, constants measured."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tailcut.noise import estimates
from tailcut.types import FloatArray, Measured


@dataclass(frozen=True, slots=True)
class Step:
    """An update whose effect on the loss is not known yet.

    Attributes:
        loss: loss before the update.
        gradient: estimate of ‖∇F‖², at least 0.
        noise: V/k, the variance of the mean gradient.
        rate: learning rate η.
    """

    loss: float
    gradient: float
    noise: float
    rate: float


@dataclass(frozen=True, slots=True)
class Descent:
    """The measurements of the last updates, oldest first.

    Attributes:
        gradients: estimates of ‖∇F‖².
        variances: estimates of V, the variance of one worker's gradient.
        bends: estimates of L, how fast the gradient may change.
        last: the last update; None before the first that told something.
    """

    gradients: tuple[float, ...] = ()
    variances: tuple[float, ...] = ()
    bends: tuple[float, ...] = ()
    last: Step | None = None


def after(descent: Descent, measured: Measured | None, rounds: int) -> Descent:
    """Return the measurements with one more update, the last `rounds` of each; unusable ones are skipped.

    With a single gradient V cannot be estimated, and its mean so far is used.
    """
    if measured is None or not _usable(measured):
        return descent
    seen, batch = estimates(measured), float(measured.batch)
    gradients = measured.samples / batch
    variances = descent.variances if seen is None else (*descent.variances, max(seen[1] / batch, 0.0))
    if not variances:
        return descent
    noise = (variances[-1] if seen is not None else _mean(variances)) / gradients
    step = Step(measured.loss, max(measured.big - noise, 0.0), noise, measured.rate)
    bend = None if descent.last is None else curvature(descent.last, measured.loss)
    bends = descent.bends if bend is None else (*descent.bends, bend)
    gradient = (*descent.gradients, step.gradient)
    return Descent(gradient[-rounds:], variances[-rounds:], bends[-rounds:], step)


def curvature(step: Step, loss: float) -> float | None:
    """Return the L by which the descent lemma holds with equality for an update and the loss after it.

        F − F' = η‖∇F‖² − (Lη²/2)·(‖∇F‖² + V/k)

    Example:
        >>> curvature(Step(loss=1.0, gradient=2.0, noise=2.0, rate=0.5), loss=0.5)
        1.0
    """
    size = step.rate * step.rate * (step.gradient + step.noise)
    if not size > 0.0:
        return None
    bend = 2.0 * (step.rate * step.gradient - (step.loss - loss)) / size
    return bend if math.isfinite(bend) else None


def gains(descent: Descent, n: int) -> FloatArray | None:
    """Return G(k) = (η − Lη²/2)‖∇F‖² − (Lη²/2)·V/k for k = 1..n; None until one update's effect is known."""
    if descent.last is None or not descent.bends:
        return None
    rate, bend = descent.last.rate, max(_mean(descent.bends), 0.0)
    cost, counts = bend * rate * rate / 2.0, np.arange(1.0, n + 1.0)
    gained: FloatArray = (rate - cost) * _mean(descent.gradients) - cost * _mean(descent.variances) / counts
    return gained


def _usable(measured: Measured) -> bool:
    numbers = (measured.loss, measured.big, measured.rate)
    return (
        all(map(math.isfinite, numbers)) and measured.samples > 0 and measured.batch > 0 and measured.rate > 0
    )


def _mean(values: tuple[float, ...]) -> float:
    return sum(values) / len(values)
