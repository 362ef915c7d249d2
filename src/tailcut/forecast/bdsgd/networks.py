"""The neural parts of the published model: gated transition, emission over all workers, backward recurrent inference.

The paper leaves layers and sizes open; these follow the structured inference networks it builds on (Krishnan, Shalit
and Sontag, arXiv 1609.09869).
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.distributions import Categorical, MixtureSameFamily, Normal
from torch.nn.functional import elu, softplus

from tailcut.forecast.bdsgd.model import Arrays, Sizes
from tailcut.forecast.bdsgd.state_space import StateSpace, normal
from tailcut.types import FloatArray

LEAST_SD = 1e-3
"""Smallest standard deviation, in units of the mean run time or of a standardized state."""
FIRST_ODDS, FIRST_PLACES, FIRST_WIDTHS = (0.8, 0.15, 0.05), (-0.2, 0.3, 2.0), (0.4, 0.8, 2.0)
"""The first parts of a mixture: a narrow body, a wide one, a tail. Places and widths are in deviations of what
the principal components leave of a worker's run times."""


def _positive(raw: Tensor) -> Tensor:
    return softplus(raw) + LEAST_SD


class Beginning(nn.Module):
    """p(z_1) = N(m, s²), both learned: where a window begins is anywhere in the run."""

    def __init__(self, latent: int) -> None:
        super().__init__()
        self.mean = nn.Parameter(torch.empty(latent))
        self.raw_sd = nn.Parameter(torch.empty(latent))

    def forward(self) -> Normal:
        """Return the law over `(latent,)`."""
        return normal(self.mean, _positive(self.raw_sd))


class GatedTransition(nn.Module):
    """p(z_t | z_{t-1}): mean (1 − g)·(A z + a) + g·f(z) with gate g(z), and a standard deviation s(z)."""

    def __init__(self, latent: int, hidden: int) -> None:
        super().__init__()
        self.gate_in, self.gate_out = nn.Linear(latent, hidden), nn.Linear(hidden, latent)
        self.move_in, self.move_out = nn.Linear(latent, hidden), nn.Linear(hidden, latent)
        self.linear = nn.Linear(latent, latent)
        self.raw_sd = nn.Linear(latent, latent)

    def forward(self, state: Tensor) -> Normal:
        """Return the law over `(…, latent)` given `(…, latent)`."""
        gate = torch.sigmoid(self.gate_out(elu(self.gate_in(state))))
        move = self.move_out(elu(self.move_in(state)))
        mean = (1 - gate) * self.linear(state) + gate * move
        return normal(mean, _positive(self.raw_sd(elu(move))))


class Emission(nn.Module):
    """p(x_t | z_t): each worker's normal, mean b + C z + W h(z) and standard deviation s(h(z)) from one hidden layer.

    The linear term C z lets what was learned of one node hold when another one slows down too.
    """

    def __init__(self, latent: int, hidden: int, n: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(latent, hidden)
        self.loadings = nn.Linear(latent, n, bias=False)
        self.mean, self.raw_sd = nn.Linear(hidden, n), nn.Linear(hidden, n)

    def forward(self, state: Tensor) -> Normal:
        """Return the law over `(…, n)` given `(…, latent)`."""
        hidden = torch.tanh(self.hidden(state))
        return normal(self.loadings(state) + self.mean(hidden), _positive(self.raw_sd(hidden)))


class MixtureEmission(nn.Module):
    """p(x_t | z_t) of our variant: for each worker a mixture of normal laws instead of one.

    The term C z shifts all parts of a worker. Their own places W_k h, deviations s_k(h) and odds π_k(h) come from one
    hidden layer, so that a rare long run time need not widen the body of the law.
    """

    def __init__(self, latent: int, hidden: int, n: int, parts: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(latent, hidden)
        self.loadings = nn.Linear(latent, n, bias=False)
        self.mean, self.raw_sd = nn.Linear(hidden, n * parts), nn.Linear(hidden, n * parts)
        self.odds = nn.Linear(hidden, n * parts)
        self.shape = (n, parts)

    def forward(self, state: Tensor) -> MixtureSameFamily:
        """Return the law over `(…, n)` given `(…, latent)`."""
        hidden = torch.tanh(self.hidden(state))
        mean, raw_sd, odds = (
            part(hidden).unflatten(-1, self.shape) for part in (self.mean, self.raw_sd, self.odds)
        )
        parts = normal(self.loadings(state)[..., None] + mean, _positive(raw_sd))
        return MixtureSameFamily(Categorical(logits=odds, validate_args=False), parts, validate_args=False)


class BackwardInference(nn.Module):
    """q(z_t | z_{t-1}, h_t): a recurrent net reads x_T … x_t backwards into h_t, which is combined with z_{t-1}.

    Its mean is added to a linear reading of x_t itself, the counterpart of the emission's linear term.
    """

    centre: Tensor
    spread: Tensor

    def __init__(self, latent: int, hidden: int, n: int) -> None:
        super().__init__()
        self.register_buffer("centre", torch.empty(n))
        self.register_buffer("spread", torch.empty(n))
        self.direct = nn.Linear(n, latent)
        self.backwards = nn.GRU(latent, hidden, batch_first=True)
        self.combine = nn.Linear(latent, hidden)
        self.mean, self.raw_sd = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.latent = latent

    def read(self, rows: Tensor) -> Tensor:
        """Return `(batch, T, latent + hidden)` for `(batch, T, n)`: linear reading, then recurrent."""
        direct = self.direct((rows - self.centre) / self.spread)
        backwards, _ = self.backwards(direct.flip(1))
        return torch.cat([direct, backwards.flip(1)], dim=-1)

    def first(self, features: Tensor) -> Normal:
        """Return q(z_1 | h_1)."""
        direct, hidden = features[..., : self.latent], features[..., self.latent :]
        return normal(direct + self.mean(hidden), _positive(self.raw_sd(hidden)))

    def following(self, state: Tensor, features: Tensor) -> Normal:
        """Return q(z_t | z_{t-1}, h_t)."""
        direct, hidden = features[..., : self.latent], features[..., self.latent :]
        hidden = 0.5 * (torch.tanh(self.combine(state)) + hidden)
        return normal(direct + self.mean(hidden), _positive(self.raw_sd(hidden)))


def empty_network(sizes: Sizes) -> StateSpace:
    """Return the module with shapes only: it neither takes memory nor draws random numbers."""
    with torch.device("meta"):
        return StateSpace(
            Beginning(sizes.latent),
            GatedTransition(sizes.latent, sizes.hidden),
            _emission(sizes),
            BackwardInference(sizes.latent, sizes.hidden, sizes.n),
            sizes.latent,
        )


def _emission(sizes: Sizes) -> Emission | MixtureEmission:
    if sizes.parts == 1:
        return Emission(sizes.latent, sizes.hidden, sizes.n)
    return MixtureEmission(sizes.latent, sizes.hidden, sizes.n, sizes.parts)


def network(sizes: Sizes, weights: Arrays) -> StateSpace:
    """Return the module with these numbers, copied."""
    module = empty_network(sizes)
    state = {name: torch.tensor(array) for name, array in weights.items()}
    module.load_state_dict(state, assign=True)
    return module


def shapes(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """Return name and shape of every array of numbers that `network` needs."""
    return {name: tuple(tensor.shape) for name, tensor in empty_network(sizes).state_dict().items()}


def flat(sizes: Sizes, weights: Arrays) -> NDArray[np.float32]:
    """Return all numbers in one row, in the order of `shapes`."""
    return np.concatenate([weights[name].ravel() for name in shapes(sizes)])


def named(sizes: Sizes, numbers: NDArray[np.float32]) -> Arrays:
    """Return the arrays that `flat` has put in one row."""
    wanted = shapes(sizes)
    ends = np.cumsum([math.prod(shape) for shape in wanted.values()])
    parts = np.split(numbers, ends[:-1])
    return {name: part.reshape(wanted[name]) for name, part in zip(wanted, parts, strict=True)}


def first_weights(sizes: Sizes, rows: FloatArray, rng: np.random.Generator) -> Arrays:
    """Return numbers to begin training with: each worker's own mean and spread, a state that stays.

    Args:
        sizes: of the module.
        rows: `(T, n)` scaled run times.
        rng: the only source of randomness.
    """
    weights: Arrays = {}
    for name, shape in shapes(sizes).items():
        drawn = rng.standard_normal(shape) / np.sqrt(shape[-1]) if len(shape) > 1 else np.zeros(shape)
        weights[name] = drawn.astype(np.float32)
    centre, spread = rows.mean(axis=0), np.maximum(rows.std(axis=0), 10 * LEAST_SD)
    reading, loadings, scores = principal_components((rows - centre) / spread, sizes.latent)
    stays = np.clip((scores[1:] * scores[:-1]).mean(axis=0), 0.0, 0.99)
    residual = rows - centre - scores @ loadings * spread
    given = {
        "start.raw_sd": np.full(sizes.latent, _raw(1.0)),
        "transition.linear.weight": np.diag(stays),
        "transition.gate_out.bias": np.full(sizes.latent, -3.0),
        "transition.move_out.weight": weights["transition.move_out.weight"] * 0.1,
        "transition.raw_sd.bias": _raw(np.sqrt(1 - stays**2)),
        "transition.raw_sd.weight": weights["transition.raw_sd.weight"] * 0.1,
        "emission.loadings.weight": (loadings * spread).T,
        **_first_emission(sizes, weights, centre, spread, np.maximum(residual.std(axis=0), 10 * LEAST_SD)),
        "inference.direct.weight": reading.T,
        "inference.mean.weight": weights["inference.mean.weight"] * 0.1,
        "inference.raw_sd.bias": np.full(sizes.latent, _raw(0.2)),
        "inference.raw_sd.weight": weights["inference.raw_sd.weight"] * 0.1,
        "inference.centre": centre,
        "inference.spread": spread,
    }
    return weights | {name: np.asarray(array, dtype=np.float32) for name, array in given.items()}


def _first_emission(
    sizes: Sizes, weights: Arrays, centre: FloatArray, spread: FloatArray, deviation: FloatArray
) -> Arrays:
    """Return each worker's mean and the deviation that principal components leave, for each mixture part."""
    per_worker = np.repeat(spread, sizes.parts)[:, None]
    given: Arrays = {
        "emission.mean.weight": weights["emission.mean.weight"] * per_worker * 0.1,
        "emission.raw_sd.weight": weights["emission.raw_sd.weight"] * 0.1,
    }
    if sizes.parts == 1:
        return given | {"emission.mean.bias": centre, "emission.raw_sd.bias": _raw(deviation)}
    odds, places, widths = (
        _spread_out(each, sizes.parts) for each in (FIRST_ODDS, FIRST_PLACES, FIRST_WIDTHS)
    )
    wide = np.maximum(deviation[:, None] * widths, 2 * LEAST_SD)
    return given | {
        "emission.mean.bias": (centre[:, None] + deviation[:, None] * places).ravel(),
        "emission.raw_sd.bias": _raw(wide).ravel(),
        "emission.odds.bias": np.tile(np.log(odds), (sizes.n, 1)).ravel(),
        "emission.odds.weight": weights["emission.odds.weight"] * 0.1,
    }


def _spread_out(values: tuple[float, ...], parts: int) -> FloatArray:
    """Return as many values as there are parts, between the given ones."""
    out: FloatArray = np.interp(np.linspace(0, 1, parts), np.linspace(0, 1, len(values)), values)
    return out


def principal_components(rows: FloatArray, count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return reading `(n, count)`, loadings `(count, n)` and scores `(T, count)` of centered rows.

    Scores have unit variance. rows @ reading = scores, and scores @ loadings is the best approximation of the
    rows of that rank. Where there are fewer components than `count` the rest is zero.
    """
    left, sizes, right = np.linalg.svd(rows, full_matrices=False)
    real = min(count, int((sizes > 1e-9 * max(sizes[0], 1e-9)).sum()))
    root = np.sqrt(len(rows))
    reading, loadings = np.zeros((rows.shape[1], count)), np.zeros((count, rows.shape[1]))
    scores = np.zeros((len(rows), count))
    reading[:, :real] = right[:real].T * (root / sizes[:real])
    loadings[:real] = right[:real] * (sizes[:real, None] / root)
    scores[:, :real] = left[:, :real] * root
    return reading, loadings, scores


def _raw(sd: FloatArray | float) -> FloatArray:
    """Return the number that `_positive` turns into `sd`."""
    out: FloatArray = np.log(np.expm1(np.asarray(sd) - LEAST_SD))
    return out
