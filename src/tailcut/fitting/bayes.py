"""Training of the network of `bayes`, which learns where run times fall on the forecast's own scale.

A sample holds the features of one worker before a round, and the bin of u = F(x) into which its true run time
then fell (`study.deep_samples` makes them). The loss is the negative log-likelihood of the bins under the
corrected hazards; it depends on the bin alone, so a run time that repeats exactly gains nothing extra.
"""

# ruff: noqa: E402

from __future__ import annotations

from tailcut.extras import require

require("Fitting a model", "torch")

from itertools import pairwise

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from tailcut.errors import ParameterError
from tailcut.fitting.adam import AdamTraining
from tailcut.fitting.samples import Samples
from tailcut.forecast.bayes.deep import MOST, SIZES, Deep, plain_log_odds
from tailcut.types import FloatArray, IntArray

BATCH = 1024
RATE, DECAY = 2e-3, 1e-4
LEAST_SAMPLES = 100


class Network(torch.nn.Module):
    """The torch side of `Deep`; its last layer starts at zero, where it corrects nothing."""

    def __init__(self, start: Deep | None, generator: torch.Generator) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(wide, narrow) for wide, narrow in pairwise(SIZES))
        with torch.no_grad():
            for index, layer in enumerate(self._linear()):
                if start is not None:
                    layer.weight.copy_(torch.tensor(start.weights[index].T))
                    layer.bias.copy_(torch.tensor(start.biases[index]))
                    continue
                last = index == len(self.layers) - 1
                spread = 0.0 if last else layer.in_features**-0.5
                layer.weight.copy_(spread * torch.randn(layer.weight.shape, generator=generator))
                layer.bias.zero_()

    def forward(self, features: Tensor) -> Tensor:
        """`(N, HAZARDS)` log odds of the corrected hazards."""
        *inner, last = self._linear()
        for layer in inner:
            features = torch.tanh(layer(features))
        return self.plain + MOST * torch.tanh(last(features) / MOST)

    @property
    def plain(self) -> Tensor:
        """`(HAZARDS,)` log odds without a correction."""
        return torch.tensor(plain_log_odds(), dtype=torch.float32)

    def _linear(self) -> list[torch.nn.Linear]:
        return [layer for layer in self.layers if isinstance(layer, torch.nn.Linear)]


def bin_loss(log_odds: Tensor, bins: Tensor) -> Tensor:
    """Mean negative log-likelihood of the bins: survived all bins before, then arrived."""
    passed = torch.cumsum(logsigmoid(-log_odds), dim=1)
    before = torch.nn.functional.pad(passed, (1, 0)).gather(1, bins[:, None])
    arrives = torch.nn.functional.pad(logsigmoid(log_odds), (0, 1)).gather(1, bins[:, None])
    return -(before + arrives).mean()


class BayesTraining(AdamTraining):
    """A training of the network with Adam on the likelihood of the bins.

    Args:
        samples: samples to learn from, some of them held out.
        start: initial weights, such as the prior of the package; None begins with no correction.
        seed: seed of the initial weights and of the order of samples.
    """

    def __init__(self, samples: Samples, start: Deep | None, seed: int) -> None:
        if len(samples) < LEAST_SAMPLES or not samples.held_out.any() or samples.held_out.all():
            raise ParameterError(
                f"Training needs at least {LEAST_SAMPLES} run times, some of them to be held out, but got "
                f"{len(samples)}. Give more rounds."
            )
        generator = torch.Generator().manual_seed(seed)
        self._module = Network(start, generator)
        super().__init__(self._module, RATE, DECAY, generator)
        keep = ~samples.held_out
        self._learn = _tensors(samples.features[keep], samples.bins[keep])
        self._held_out = _tensors(samples.features[~keep], samples.bins[~keep])
        self.untrained = self._loss()

    def epoch(self) -> float:
        """Train on every sample once, in a new order, at a falling rate."""
        features, bins = self._learn
        self._at_rate(RATE * 0.9**self._standing.epochs)
        order = torch.randperm(len(bins), generator=self._generator)
        for begin in range(0, len(order), BATCH):
            chosen = order[begin : begin + BATCH]
            loss = bin_loss(self._module(features[chosen]), bins[chosen])
            self._optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            self._optimiser.step()
        return self._ended(self._loss())

    def model(self) -> Deep:
        """The best network so far."""
        count = len(self._module.layers)
        return Deep(
            tuple(self._best[f"layers.{k}.weight"].T.astype(np.float64) for k in range(count)),
            tuple(self._best[f"layers.{k}.bias"].astype(np.float64) for k in range(count)),
        )

    def _loss(self) -> float:
        features, bins = self._held_out
        with torch.no_grad():
            return float(bin_loss(self._module(features), bins))


def _tensors(features: FloatArray, bins: IntArray) -> tuple[Tensor, Tensor]:
    return torch.tensor(features, dtype=torch.float32), torch.tensor(bins)
