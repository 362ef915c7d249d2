"""A state-space model with amortised inference: the variational objective and the predictive, for any parts.

    p(z_1) Π p(z_t | z_{t-1}) Π p(x_t | z_t)          what happens
    q(z_1 | h_1) Π q(z_t | z_{t-1}, h_t)              what is inferred, h_t read from x_t … x_T

All laws are normal with a diagonal covariance. The parts are modules: neural ones in `networks.py`, linear ones with
fixed weights in the tests, where the exact answer is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.distributions import Distribution, MixtureSameFamily, Normal, kl_divergence


def normal(mean: Tensor, sd: Tensor) -> Normal:
    """Return a diagonal normal law; arguments are not checked, for speed."""
    return Normal(mean, sd, validate_args=False)


def log_density(law: Distribution, values: Tensor) -> Tensor:
    """Return the log density of each coordinate by itself."""
    out: Tensor = law.log_prob(values)
    return out


def one_part(law: Distribution, generator: torch.Generator) -> Normal:
    """Return the normal law that a draw comes from: of a mixture one part for each coordinate, drawn by its odds.

    Args:
        law: a normal law, which is returned as it is, or a mixture of normal laws.
        generator: the only source of randomness.
    """
    if isinstance(law, Normal):
        return law
    assert isinstance(law, MixtureSameFamily)
    parts = law.component_distribution
    assert isinstance(parts, Normal)
    odds = law.mixture_distribution.probs
    chosen = torch.multinomial(odds.reshape(-1, odds.shape[-1]), 1, generator=generator)
    chosen = chosen.reshape(*odds.shape[:-1], 1)
    mean, sd = (part.gather(-1, chosen)[..., 0] for part in (parts.mean, parts.stddev))
    return normal(mean, sd)


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread: sums keep their order, and nets this small gain nothing by more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Start(Protocol):
    """p(z_1)."""

    def __call__(self) -> Normal:
        """Return the law over `(latent,)`."""


class Conditional(Protocol):
    """p(z_t | z_{t-1})."""

    def __call__(self, state: Tensor) -> Normal:
        """Return the law given `(…, latent)`."""


class Emits(Protocol):
    """p(x_t | z_t): normal as published, or a mixture of normal laws for each worker."""

    def __call__(self, state: Tensor) -> Distribution:
        """Return the law given `(…, latent)`."""


class Inference(Protocol):
    """q(z_1 … z_T | x_1 … x_T), one step at a time."""

    def read(self, rows: Tensor) -> Tensor:
        """Return `(batch, T, features)` for `(batch, T, n)` run times; row t may depend on t … T."""

    def first(self, features: Tensor) -> Normal:
        """Return q(z_1 | h_1), `(batch, latent)`, for `(batch, features)`."""

    def following(self, state: Tensor, features: Tensor) -> Normal:
        """Return q(z_t | z_{t-1}, h_t), `(samples, batch, latent)`."""


class StateSpace(nn.Module):
    """The four parts of the model, and what can be computed from them.

    Rows are run times in the model's own unit.

    Args:
        start: p(z_1).
        transition: p(z_t | z_{t-1}).
        emission: p(x_t | z_t).
        inference: q.
        latent: length of z.
    """

    def __init__(
        self, start: Start, transition: Conditional, emission: Emits, inference: Inference, latent: int
    ) -> None:
        super().__init__()
        self.start, self.transition, self.emission, self.inference = start, transition, emission, inference
        self.latent = latent

    def infer(self, rows: Tensor, noise: Tensor) -> tuple[Tensor, list[Normal]]:
        """Draw z_1 … z_T from q, by reparameterization.

        Args:
            rows: `(batch, T, n)`.
            noise: `(samples, batch, T, latent)` standard normal.

        Returns:
            The states `(samples, batch, T, latent)` and q at every step.
        """
        features = self.inference.read(rows)
        law = self.inference.first(features[:, 0])
        laws, states = [law], [law.mean + law.stddev * noise[:, :, 0]]
        for t in range(1, rows.shape[1]):
            law = self.inference.following(states[-1], features[:, t])
            laws.append(law)
            states.append(law.mean + law.stddev * noise[:, :, t])
        return torch.stack(states, dim=2), laws

    def elbo(
        self, rows: Tensor, noise: Tensor, kl_weight: float = 1.0, shown: Tensor | None = None
    ) -> Tensor:
        """E_q[Σ log p(x_t | z_t)] − Σ E_q[KL(q(z_t | z_{t-1}, h_t) ‖ p(z_t | z_{t-1}))], one draw of z each.

        Args:
            rows: `(batch, T, n)`.
            noise: `(samples, batch, T, latent)` standard normal.
            kl_weight: factor on the divergence; below 1 at first, so that training uses the state.
            shown: `(batch, T, n)` what inference reads in place of `rows`, for training with gaps.

        Returns:
            `(samples, batch)`; its mean over samples is at most log p(x_1 … x_T).
        """
        states, laws = self.infer(rows if shown is None else shown, noise)
        fit = log_density(self.emission(states), rows).sum(dim=(-1, -2))
        # q(z_1 | h_1) is the same for every sample; the later ones depend on the z before.
        divergence = kl_divergence(laws[0], self.start()).sum(dim=-1).expand(fit.shape)
        if len(laws) > 1:
            steps = normal(
                torch.stack([law.mean for law in laws[1:]], dim=2),
                torch.stack([law.stddev for law in laws[1:]], dim=2),
            )
            divergence = divergence + kl_divergence(steps, self.transition(states[:, :, :-1])).sum(
                dim=(-1, -2)
            )
        return fit - kl_weight * divergence

    def next_states(self, window: Tensor, samples: int, generator: torch.Generator) -> Tensor:
        """Return draws of z_{T+1} given `(T, n)` rows: `(samples, latent)`."""
        noise = self.noise(samples, 1, len(window) + 1, generator)
        states, _ = self.infer(window[None], noise[:, :, :-1])
        law = self.transition(states[:, 0, -1])
        return law.mean + law.stddev * noise[:, 0, -1]

    def sample_next(self, window: Tensor, samples: int, generator: torch.Generator) -> Tensor:
        """Return joint draws `(samples, n)` of x_{T+1} given `(T, n)` rows, each by its own draw of z."""
        law = one_part(self.emission(self.next_states(window, samples, generator)), generator)
        return law.mean + law.stddev * _standard_normal(law.mean.shape, generator, law.mean)

    def log_prob_next(
        self, window: Tensor, following: Tensor, samples: int, generator: torch.Generator
    ) -> Tensor:
        """Return log p(x_{T+1} | x_1 … x_T) as the mean over draws of z_{T+1}: a mixture of `samples` laws.

        Args:
            window: `(T, n)`.
            following: `(…, n)` values of x_{T+1}.
            samples: draws of z_{T+1}.
            generator: the only source of randomness.

        Returns:
            `(…,)`.
        """
        law = self.emission(self.next_states(window, samples, generator))
        each = log_density(law, following[..., None, :]).sum(dim=-1)
        return torch.logsumexp(each, dim=-1) - math.log(samples)

    def foretold(self, rows: Tensor, noise: Tensor, shown: Tensor) -> Tensor:
        """Return log p(x_T | x_1 … x_{T-1}) by draws of z_T from the transition: the score of the last round.

        Args:
            rows: `(batch, T, n)`.
            noise: `(samples, batch, T, latent)` standard normal.
            shown: `(batch, T, n)` what inference reads in place of `rows`; its last round is not read.

        Returns:
            `(batch,)`.
        """
        states, _ = self.infer(shown[:, :-1], noise[:, :, :-1])
        law = self.transition(states[:, :, -1])
        following = law.mean + law.stddev * noise[:, :, -1]
        each = log_density(self.emission(following), rows[:, -1]).sum(dim=-1)
        return torch.logsumexp(each, dim=0) - math.log(len(noise))

    def noise(self, samples: int, batch: int, steps: int, generator: torch.Generator) -> Tensor:
        """Return `(samples, batch, steps, latent)` standard normal numbers."""
        like = next(self.parameters(), torch.zeros(()))
        return _standard_normal((samples, batch, steps, self.latent), generator, like)


def _standard_normal(shape: tuple[int, ...], generator: torch.Generator, like: Tensor) -> Tensor:
    return torch.randn(shape, generator=generator, dtype=like.dtype)
