"""The objective and the predictive against a linear-Gaussian model, where everything is known in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import kstest, multivariate_normal, norm

torch = pytest.importorskip("torch")

from torch import Tensor  # noqa: E402
from torch.distributions import Normal  # noqa: E402

from tailcut.forecast.bdsgd.model import Sizes  # noqa: E402
from tailcut.forecast.bdsgd.networks import first_weights, flat, named, network, shapes  # noqa: E402
from tailcut.forecast.bdsgd.state_space import StateSpace, normal  # noqa: E402

FIRST_SD, STAYS, MOVES, STEPS = 1.3, 0.8, 0.5, 6
LOADINGS = torch.tensor([1.0, -0.5, 2.0], dtype=torch.float64)
NOISE = torch.tensor([0.4, 0.7, 1.1], dtype=torch.float64)
MANY = 40_000


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def start() -> Normal:
    zero = torch.zeros(1, dtype=torch.float64)
    return normal(zero, zero + FIRST_SD)


def transition(state: Tensor) -> Normal:
    return normal(STAYS * state, torch.full_like(state, MOVES))


def emission(state: Tensor) -> Normal:
    mean = state * LOADINGS
    return normal(mean, NOISE.expand(mean.shape))


@dataclass
class Exact:
    """The exact posterior, q(z_t | z_{t-1}, x_t … x_T) ∝ p(z_t | z_{t-1}) exp(h_t z_t − J_t z_t² / 2), then misled.

    Attributes:
        shift: error of every mean, in its own standard deviations.
    """

    shift: float = 0.0

    def read(self, rows: Tensor) -> Tensor:
        own_precision = (LOADINGS**2 / NOISE**2).sum()
        own = rows @ (LOADINGS / NOISE**2)
        precision, pull = torch.zeros_like(own[:, 0]), torch.zeros_like(own[:, 0])
        features = []
        for t in reversed(range(rows.shape[1])):
            shrink = 1 + precision * MOVES**2
            precision = own_precision + STAYS**2 * precision / shrink
            pull = own[:, t] + STAYS * pull / shrink
            features.append(torch.stack([precision, pull], dim=-1))
        return torch.stack(features[::-1], dim=1)

    def first(self, features: Tensor) -> Normal:
        return self._law(torch.zeros_like(features[..., :1]), FIRST_SD, features)

    def following(self, state: Tensor, features: Tensor) -> Normal:
        return self._law(STAYS * state, MOVES, features)

    def _law(self, mean: Tensor, sd: float, features: Tensor) -> Normal:
        precision = 1 / sd**2 + features[..., :1]
        after = (mean / sd**2 + features[..., 1:]) / precision
        spread = precision**-0.5
        return normal(after + self.shift * spread, spread.expand(after.shape))


class Linear(StateSpace):
    def __init__(self, shift: float = 0.0) -> None:
        super().__init__(start, transition, emission, Exact(shift), latent=1)

    def noise(self, samples: int, batch: int, steps: int, generator: torch.Generator) -> Tensor:
        return torch.randn((samples, batch, steps, 1), generator=generator, dtype=torch.float64)


def covariance(steps: int) -> np.ndarray:
    """Return the covariance of x_1 … x_T, one after the other, for the model above."""
    variance = [FIRST_SD**2]
    for _ in range(steps - 1):
        variance.append(STAYS**2 * variance[-1] + MOVES**2)
    states = np.array(
        [[STAYS ** abs(s - t) * variance[min(s, t)] for t in range(steps)] for s in range(steps)]
    )
    loadings = LOADINGS.numpy()
    return np.kron(states, np.outer(loadings, loadings)) + np.kron(np.eye(steps), np.diag(NOISE.numpy() ** 2))


ROWS = (
    np.random.default_rng(3)
    .multivariate_normal(np.zeros(3 * STEPS), covariance(STEPS), size=2)
    .reshape(2, STEPS, 3)
)


def kalman(rows: np.ndarray) -> float:
    """log p(x_1 … x_T) by the filter."""
    mean, variance, total = 0.0, FIRST_SD**2, 0.0
    loadings, noise = LOADINGS.numpy(), NOISE.numpy()
    for row in rows:
        spread = variance * np.outer(loadings, loadings) + np.diag(noise**2)
        total += float(multivariate_normal(mean * loadings, spread).logpdf(row))
        gain = variance * loadings @ np.linalg.inv(spread)
        mean, variance = mean + gain @ (row - mean * loadings), variance * (1 - gain @ loadings)
        mean, variance = STAYS * mean, STAYS**2 * variance + MOVES**2
    return total


def bounds(shift: float, seed: int = 0) -> Tensor:
    model = Linear(shift)
    return model.elbo(torch.tensor(ROWS), model.noise(MANY, 2, STEPS, generator(seed)))


def test_the_filter_agrees_with_the_joint_law() -> None:
    for rows in ROWS:
        joint = multivariate_normal(np.zeros(3 * STEPS), covariance(STEPS)).logpdf(rows.ravel())
        assert kalman(rows) == pytest.approx(joint, abs=1e-9)


def test_the_bound_is_the_likelihood_where_inference_is_exact() -> None:
    drawn = bounds(0.0)
    for b, rows in enumerate(ROWS):
        error = float(drawn[:, b].std()) / MANY**0.5
        assert float(drawn[:, b].mean()) == pytest.approx(kalman(rows), abs=4 * error)
        assert error < 0.02


@pytest.mark.parametrize("shift", [-0.5, 0.3, 1.0])
def test_the_bound_falls_short_by_the_divergence_of_inference(shift: float) -> None:
    drawn = bounds(shift, seed=1)
    for b, rows in enumerate(ROWS):
        error = float(drawn[:, b].std()) / MANY**0.5
        gap = STEPS * shift**2 / 2  # Each step's law is off by `shift` of its own deviations.
        assert float(drawn[:, b].mean()) == pytest.approx(kalman(rows) - gap, abs=4 * error)


def predictive(rows: np.ndarray) -> multivariate_normal:
    """p(x_{T+1} | x_1 … x_T), by conditioning the joint law."""
    whole, past = covariance(STEPS + 1), 3 * STEPS
    gain = whole[past:, :past] @ np.linalg.inv(whole[:past, :past])
    return multivariate_normal(gain @ rows.ravel(), whole[past:, past:] - gain @ whole[:past, past:])


def test_draws_of_the_next_round_follow_the_exact_predictive() -> None:
    exact = predictive(ROWS[0])
    drawn = Linear().sample_next(torch.tensor(ROWS[0]), 4000, generator()).numpy()
    for along in (*np.eye(3), np.array([1.0, 1.0, 1.0]), np.array([2.0, 1.0, -1.0])):
        law = norm(along @ exact.mean, np.sqrt(along @ exact.cov @ along))
        assert kstest(drawn @ along, law.cdf).pvalue > 1e-3


def test_the_density_of_the_next_round_is_the_exact_one() -> None:
    exact = predictive(ROWS[0])
    where = exact.rvs(20, random_state=np.random.default_rng(0))
    found = Linear().log_prob_next(torch.tensor(ROWS[0]), torch.tensor(where), 20_000, generator())
    assert found.numpy() == pytest.approx(exact.logpdf(where), abs=0.1)


SIZES = Sizes(n=5, latent=3, hidden=8, window=4)


@pytest.fixture(scope="module")
def neural() -> StateSpace:
    """A net whose every number is large enough to matter."""
    rng = np.random.default_rng(0)
    weights = first_weights(SIZES, rng.lognormal(0.0, 0.3, (60, SIZES.n)), rng)
    loud = {
        k: v + rng.normal(0, 0.3, v.shape).astype(np.float32) for k, v in weights.items() if "spread" not in k
    }
    return network(SIZES, weights | loud)


def test_neural_draws_agree_with_the_neural_density(neural: StateSpace) -> None:
    window = torch.tensor(np.random.default_rng(1).lognormal(0.0, 0.3, (4, 5)), dtype=torch.float32)
    with torch.no_grad():
        drawn = neural.sample_next(window, 3000, generator(1)).numpy()
        law = neural.emission(neural.next_states(window, 3000, generator(2)))
    mean, sd = law.mean.numpy(), law.stddev.numpy()
    rng = np.random.default_rng(2)
    for along in (*np.eye(5), *rng.normal(size=(5, 5))):
        values = drawn @ along
        pit = norm.cdf((values[:, None] - mean @ along) / np.sqrt(sd**2 @ along**2)).mean(axis=1)
        assert kstest(pit, "uniform").pvalue > 1e-4


def test_the_neural_density_integrates_to_one() -> None:
    sizes = Sizes(n=1, latent=3, hidden=8, window=4)
    rng = np.random.default_rng(0)
    model = network(sizes, first_weights(sizes, rng.lognormal(0.0, 0.3, (60, 1)), rng))
    grid = np.linspace(-4.0, 6.0, 2001, dtype=np.float32)[:, None]
    with torch.no_grad():
        logs = model.log_prob_next(torch.ones(4, 1), torch.tensor(grid), 200, generator())
    assert np.trapezoid(np.exp(logs.numpy()), grid[:, 0]) == pytest.approx(1.0, abs=1e-3)


def test_the_bound_is_below_the_importance_weighted_likelihood(neural: StateSpace) -> None:
    rows = torch.tensor(np.random.default_rng(1).lognormal(0.0, 0.3, (1, 4, 5)), dtype=torch.float32)
    with torch.no_grad():
        bound = neural.elbo(rows, neural.noise(2000, 1, 4, generator())).mean()
        states, laws = neural.infer(rows, neural.noise(2000, 1, 4, generator(1)))
        logs = neural.emission(states).log_prob(rows).sum(dim=(-1, -2))
        logs += neural.start().log_prob(states[:, :, 0]).sum(dim=-1)
        logs += neural.transition(states[:, :, :-1]).log_prob(states[:, :, 1:]).sum(dim=(-1, -2))
        for t, law in enumerate(laws):
            logs -= law.log_prob(states[:, :, t]).sum(dim=-1)
        likelihood = torch.logsumexp(logs, dim=0) - np.log(2000)
    assert float(logs.mean()) == pytest.approx(float(bound), rel=0.1)
    assert float(bound) < float(likelihood)


def test_numbers_in_a_row_and_back() -> None:
    rng = np.random.default_rng(0)
    weights = first_weights(SIZES, rng.lognormal(0.0, 0.3, (60, SIZES.n)), rng)
    assert {name: array.shape for name, array in weights.items()} == shapes(SIZES)
    again = named(SIZES, flat(SIZES, weights))
    assert all(np.array_equal(again[name], weights[name]) for name in weights)


def test_building_a_net_leaves_the_ambient_random_numbers_alone() -> None:
    before = torch.get_rng_state()
    rng = np.random.default_rng(0)
    network(SIZES, first_weights(SIZES, rng.lognormal(0.0, 0.3, (60, SIZES.n)), rng))
    assert torch.equal(torch.get_rng_state(), before)
