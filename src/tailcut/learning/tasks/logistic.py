"""Logistic regression on generated data: the optimum is found to machine precision, for the theory."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from tailcut.errors import ParameterError
from tailcut.learning import draws
from tailcut.learning.nets import seeded
from tailcut.learning.tasks.base import Batch, Predict, Target, Task
from tailcut.learning.tasks.checks import positive, whole
from tailcut.learning.tasks.shares import Shares
from tailcut.types import FloatArray, IntArray

DATA_SEED, INPUTS, TEACHER, LABELS = 20_140_612, 0, 1, 2
STEPS = 100


class Scored(nn.Module):
    """A linear score without offset, and ½|w|² beside it for the l2 term: `(samples, 2)`."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(dimension) / math.sqrt(dimension))

    def forward(self, inputs: Tensor) -> Tensor:
        """Return `(samples, 2)` outputs for `(samples, dimension)` inputs."""
        score = inputs @ self.w
        return torch.stack((score, (0.5 * self.w @ self.w).expand_as(score)), -1)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Logistic(Task):
    """Logistic regression on generated data, whose optimum and noise scale are known.

    loss_i(w) = log(1 + exp(−y_i x_i·w)) + l2/2·|w|², with normal x_i and labels ±1 drawn from a logistic teacher.

    Attributes:
        batch: samples in a worker's mini-batch.
        samples: samples in the data, which is the same in every run.
        dimension: length of w.
        teacher: |w| of the teacher; the larger, the clearer the labels.
        l2: weight of the l2 term.
        goal: gap to the least loss at which a run has reached its target.
        skew, of: as in `Shares`, for the data sorted by label.
    """

    batch: int = 8
    samples: int = 2000
    dimension: int = 20
    teacher: float = 3.0
    l2: float = 0.001
    goal: float = 0.002
    skew: float = 0.0
    of: int = 1
    inputs: Tensor = field(init=False, repr=False)
    signs: Tensor = field(init=False, repr=False)
    optimum: FloatArray = field(init=False, repr=False)
    least: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("batch", "samples", "dimension"):
            whole(name, getattr(self, name))
        for name in ("teacher", "l2", "goal"):
            positive(name, getattr(self, name))
        self._shares().refuse_more_parts_than(self.samples)
        inputs, signs = generated(self.samples, self.dimension, self.teacher)
        object.__setattr__(self, "inputs", torch.from_numpy(inputs).float())
        object.__setattr__(self, "signs", torch.from_numpy(signs).float())
        # Nets see the data in single precision, so find the optimum of the rounded data.
        optimum = newton(self.inputs.double().numpy(), signs, self.l2)
        object.__setattr__(self, "optimum", optimum)
        object.__setattr__(self, "least", self.loss_at(optimum))

    @property
    def target(self) -> Target:
        """The gap to the least possible loss that a run must reach."""
        return Target("gap", self.goal, "most")

    def net(self, seed: int) -> nn.Module:
        """Make a net with random weights of norm about 1."""
        return seeded(lambda: Scored(self.dimension), seed)

    def batches(self, workers: IntArray, numbers: IntArray, size: int, seed: int) -> Batch:
        """Return inputs and labels ±1."""
        rows = self._shares().drawn(self.samples, workers, numbers, size, seed).ravel()
        chosen = torch.from_numpy(rows)
        return self.inputs[chosen], self.signs[chosen]

    def losses(self, predict: Predict, batch: Batch) -> Tensor:
        """Return the `(samples,)` losses."""
        inputs, signs = batch
        score, half_square = predict(inputs).unbind(-1)
        return softplus(-signs * score) + self.l2 * half_square

    def evaluate(self, net: nn.Module) -> dict[str, float]:
        """Return loss, gap to the least loss, and noise scale, from full passes over the data."""
        loss = self.loss_at(_weights(net))
        return {"loss": loss, "gap": loss - self.least, "noise_scale": self.noise_scale(net)}

    def noise_scale(self, net: nn.Module) -> float:
        """tr(Σ)/|∇F|², Σ the covariance of the gradients of all samples; infinite at the optimum."""
        gradients = sample_gradients(*self._data(), _weights(net), self.l2)
        steepness = float((gradients.mean(0) ** 2).sum())
        return float(gradients.var(0).sum()) / steepness if steepness > 0 else math.inf

    def loss_at(self, weights: FloatArray) -> float:
        """F(w), in double precision."""
        return mean_loss(*self._data(), weights, self.l2)

    def _data(self) -> tuple[FloatArray, FloatArray]:
        return self.inputs.double().numpy(), self.signs.double().numpy()

    def _shares(self) -> Shares:
        return Shares(self.skew, self.of)


def _weights(net: nn.Module) -> FloatArray:
    (weights,) = net.parameters()
    out: FloatArray = weights.detach().double().cpu().numpy()
    return out


def generated(samples: int, dimension: int, teacher: float) -> tuple[FloatArray, FloatArray]:
    """`(samples, dimension)` inputs and `(samples,)` labels −1 or 1, sorted by label."""
    rows, axes = np.arange(samples), np.arange(dimension)
    inputs = draws.normal(DATA_SEED, rows[:, None], axes, INPUTS)
    towards = draws.normal(DATA_SEED, axes, TEACHER)
    score = inputs @ (towards * teacher / np.linalg.norm(towards))
    chance = np.exp(-np.logaddexp(0.0, -score))
    signs = np.where(draws.uniform(DATA_SEED, rows, LABELS) < chance, 1.0, -1.0)
    order = np.argsort(signs, kind="stable")
    return inputs[order], signs[order]


def sample_gradients(inputs: FloatArray, signs: FloatArray, weights: FloatArray, l2: float) -> FloatArray:
    """`(samples, dimension)`: −y x/(1 + exp(y x·w)) + l2·w."""
    pull = -signs * np.exp(-np.logaddexp(0.0, signs * (inputs @ weights)))
    out: FloatArray = pull[:, None] * inputs + l2 * weights
    return out


def mean_loss(inputs: FloatArray, signs: FloatArray, weights: FloatArray, l2: float) -> float:
    """F(w) over the data."""
    return float(np.logaddexp(0.0, -signs * (inputs @ weights)).mean() + l2 / 2 * weights @ weights)


def newton(inputs: FloatArray, signs: FloatArray, l2: float) -> FloatArray:
    """The weights at which the slope of the mean loss is zero to rounding."""
    weights, steepest = np.zeros(inputs.shape[1]), math.inf
    for _ in range(STEPS):
        slope = sample_gradients(inputs, signs, weights, l2).mean(0)
        found = float(np.abs(slope).max())
        if steepest < 1e-12 and found >= steepest:
            return weights
        steepest = found
        weights = weights - _step(inputs, signs, weights, slope, l2)
    problem = (
        f"the optimum was not found in {STEPS} steps with l2 = {l2!r}, the slope is still {steepest:.1e}"
    )
    raise ParameterError(f"{problem}; give a larger l2.")


def _step(
    inputs: FloatArray, signs: FloatArray, weights: FloatArray, slope: FloatArray, l2: float
) -> FloatArray:
    """Newton's step, halved until the loss does not rise by more than rounding."""
    chance = np.exp(-np.logaddexp(0.0, -(inputs @ weights)))
    curvature = (inputs * (chance * (1 - chance))[:, None]).T @ inputs / len(inputs)
    step: FloatArray = np.linalg.solve(curvature + l2 * np.eye(len(weights)), slope)
    now = mean_loss(inputs, signs, weights, l2)
    while mean_loss(inputs, signs, weights - step, l2) > now + 1e-14 * (1 + now):
        step = step / 2
    return step
