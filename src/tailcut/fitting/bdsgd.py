"""Training of the published model (Teng & Wood 2018): once, offline, on fully observed rounds."""

# ruff: noqa: E402

from __future__ import annotations

from tailcut.extras import require

require("Fitting a model", "torch")

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tailcut.errors import ParameterError
from tailcut.fitting.adam import AdamTraining
from tailcut.forecast.bdsgd.model import BdsgdModel, Sizes
from tailcut.forecast.bdsgd.networks import first_weights, flat, network
from tailcut.forecast.bdsgd.state_space import one_thread
from tailcut.types import FloatArray, IntArray

HELD_OUT = 0.15
CEILING_RANK = 0.995
LARGEST_STEP = 5.0
HELD_OUT_SAMPLES = 4
FORETOLD_SAMPLES = 4
"""Draws of the coming state with which training of a mixture scores its forecast of a round."""
FEW_WORKERS, MANY_WORKERS = 64, 512


@dataclass(frozen=True, slots=True)
class BdsgdSettings:
    """Training settings that the paper leaves open; None chooses a value by the number of workers.

    Attributes:
        latent: length of the hidden state; None for 8 up to 64 workers, 16 up to 512 and 40 beyond.
        hidden: width of the hidden layers.
        window: rounds the inference network reads.
        batch: windows per step.
        rate: Adam's step size at first, falling to a tenth; None for 0.003, beyond 512 workers 0.001.
        decay: epochs over which it falls.
        weight_decay: pull of the weights towards 0.
        warm_up: epochs over which the weight of the divergence rises from a tenth to 1.
        samples: draws of the hidden states per window and step.
        gaps: share of the run times hidden from inference in training, against overfitting; None for 0.2,
            beyond 512 workers 0.5.
        parts: normal laws in the mixture for a worker's run time; 1 as published, more is our variant.
    """

    latent: int | None = None
    hidden: int = 32
    window: int = 10
    batch: int = 32
    rate: float | None = None
    decay: int = 150
    weight_decay: float = 1e-4
    warm_up: int = 10
    samples: int = 1
    gaps: float | None = None
    parts: int = 1

    def __post_init__(self) -> None:
        for name in ("latent", "hidden", "window", "batch", "samples", "parts"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ParameterError(f"{name} must be at least 1, but got {value}. Try {name}=10.")
        if self.gaps is not None and not 0 <= self.gaps < 1:
            raise ParameterError(f"gaps must be at least 0 and below 1, but got {self.gaps}. Try gaps=0.2.")

    @property
    def least_rounds(self) -> int:
        """Rounds that training needs: some windows to learn from and one to hold out."""
        return 2 * (self.window + 1)

    def sizes(self, n: int) -> Sizes:
        """Return the sizes of the networks for `n` workers."""
        usual = 8 if n <= FEW_WORKERS else 16 if n <= MANY_WORKERS else 40
        latent = usual if self.latent is None else self.latent
        return Sizes(n, latent, self.hidden, self.window, self.parts)

    def rate_for(self, n: int) -> float:
        """Adam's first step size for `n` workers."""
        return (3e-3 if n <= MANY_WORKERS else 1e-3) if self.rate is None else self.rate

    def gaps_for(self, n: int) -> float:
        """Share of the run times hidden from inference, for `n` workers."""
        return (0.2 if n <= MANY_WORKERS else 0.5) if self.gaps is None else self.gaps


class BdsgdTraining(AdamTraining):
    """A training with Adam on the variational objective over windows; the last 15 % of rounds are held out.

    Run times are divided by their mean, as published. The longest 0.5 % are clipped to the quantile 0.995: a
    single one of a hundred times the mean would otherwise determine a worker's normal law.

    Args:
        rows: `(T, n)` seconds, fully observed.
        settings: sizes and step sizes.
        seed: seed of the initial weights, the order of windows, and draws.
        workers: `(n,)` ids of the columns, increasing; by default 0 … n − 1.
    """

    def __init__(
        self, rows: FloatArray, settings: BdsgdSettings, seed: int, workers: IntArray | None = None
    ) -> None:
        self.settings = settings
        self.workers = np.arange(rows.shape[1], dtype=np.int64) if workers is None else workers
        self._refuse(rows)
        self.scale = float(rows.mean())
        scaled = rows / self.scale
        self.floor, self.ceiling = (
            float(end) for end in np.quantile(scaled, [1 - CEILING_RANK, CEILING_RANK])
        )
        scaled = np.minimum(scaled, self.ceiling)
        self.sizes = settings.sizes(rows.shape[1])
        cut = len(rows) - max(round(HELD_OUT * len(rows)), 1)
        weights = first_weights(self.sizes, scaled[:cut], np.random.default_rng(seed))
        self._module = network(self.sizes, weights)
        self._centre = torch.tensor(weights["inference.centre"])
        # One round longer than the windows read later, so that the step to the coming round is trained too.
        length = settings.window + 1
        windows = torch.tensor(scaled, dtype=torch.float32).unfold(0, length, 1).transpose(1, 2)
        # A held-out window ends in a held-out round; its first rounds may not be held out.
        first_held_out = max(cut - settings.window, 1)
        self._learn, self._held_out = windows[:first_held_out], windows[first_held_out:]
        self._held_out_noise = self._module.noise(
            HELD_OUT_SAMPLES, len(self._held_out), length, torch.Generator().manual_seed(seed + 1)
        )
        self._rate = settings.rate_for(self.sizes.n)
        super().__init__(self._module, self._rate, settings.weight_decay, torch.Generator().manual_seed(seed))
        with one_thread():
            self.untrained = self._held_out_loss()

    def epoch(self) -> float:
        """Train on every window once, in a new order."""
        done, settings = self._standing.epochs, self.settings
        kl_weight = min(0.1 + 0.9 * done / max(settings.warm_up, 1), 1.0)
        self._at_rate(self._rate * 0.1 ** min(done / max(settings.decay, 1), 1.0))
        order = torch.randperm(len(self._learn), generator=self._generator)
        with one_thread():
            for begin in range(0, len(order), settings.batch):
                self._step(self._learn[order[begin : begin + settings.batch]], kl_weight)
            loss = self._held_out_loss()
        # The weight of the divergence rises in the first epochs, but the held-out losses are comparable: they
        # always use the full weight.
        return self._ended(loss)

    def model(self) -> BdsgdModel:
        """The best model so far."""
        return BdsgdModel(
            self.sizes, self.workers, self.scale, self.floor, self.ceiling, flat(self.sizes, self._best)
        )

    def _step(self, windows: Tensor, kl_weight: float) -> None:
        batch, steps = windows.shape[:2]
        noise = self._module.noise(self.settings.samples, batch, steps, self._generator)
        shown = self._with_gaps(windows)
        bound = self._module.elbo(windows, noise, kl_weight, shown).mean()
        loss = -bound / (windows.shape[1] * windows.shape[2])
        if self.sizes.parts > 1:
            draws = self._module.noise(FORETOLD_SAMPLES, batch, steps, self._generator)
            loss = loss - self._module.foretold(windows, draws, shown).mean() / windows.shape[2]
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self._module.parameters(), LARGEST_STEP)
        self._optimiser.step()

    def _with_gaps(self, windows: Tensor) -> Tensor:
        """Hide run times of a window from inference (dropout): they become the mean, others are scaled up."""
        gaps = self.settings.gaps_for(self.sizes.n)
        shown = torch.rand(windows.shape, generator=self._generator) >= gaps
        return self._centre + (windows - self._centre) * shown / (1 - gaps)

    def _held_out_loss(self) -> float:
        """Return the loss per worker and round, with fixed draws so that epochs are comparable."""
        with torch.no_grad():
            if self.sizes.parts > 1:
                shown = self._held_out
                told = self._module.foretold(shown, self._held_out_noise, shown).mean()
                return -float(told) / shown.shape[2]
            bound = self._module.elbo(self._held_out, self._held_out_noise).mean()
        return -float(bound) / (self._held_out.shape[1] * self._held_out.shape[2])

    def _refuse(self, rows: FloatArray) -> None:
        least = self.settings.least_rounds
        if len(rows) < least:
            raise ParameterError(
                f"Training with windows of {self.settings.window} rounds needs at least {least} rounds in which every "
                f"worker was observed, but got {len(rows)}. Give more rounds or a shorter window."
            )
        if not (np.isfinite(rows) & (rows > 0)).all():
            raise ParameterError(
                "Run times to train on must be finite and > 0 for every worker in every round, but some are not. "
                "Leave out the rounds or workers with gaps."
            )
