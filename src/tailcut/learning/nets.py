"""Nets that the built-in tasks train: plain functions of tensors, without batch statistics or dropout.

So one pass over all workers' mini-batches gives the same gradients as a pass for each worker, and one pass
can use many versions of the parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, pad, relu


def seeded(make: Callable[[], nn.Module], seed: int, device: str = "cpu") -> nn.Module:
    """Make a net whose first weights depend on the seed alone, without changing torch's global generator.

    The net is made on the CPU and then moved, so that every device begins with the same weights.
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return make().to(device)


class Standardised(nn.Module):
    """A layer that returns (input − `mean`) / `spread` as floats: images stay bytes until they reach the net.

    Both hold one number per channel, `(channels,)`, or a single number.
    """

    def __init__(self, mean: Sequence[float], spread: Sequence[float]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean), persistent=False)
        self.register_buffer("spread", torch.tensor(spread), persistent=False)
        self.mean: Tensor
        self.spread: Tensor

    def forward(self, images: Tensor) -> Tensor:
        """`(samples, channels, …)`, the same shape out."""
        shape = (-1,) + (1,) * (images.dim() - 2)
        return (images.float() - self.mean.view(shape)) / self.spread.view(shape)


def mlp(sizes: Sequence[int]) -> nn.Sequential:
    """Fully connected layers with rectifiers between them; `sizes` from inputs to outputs."""
    layers: list[nn.Module] = []
    for fan_in, fan_out in pairwise(sizes):
        layers += [nn.Linear(fan_in, fan_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def _norm(channels: int) -> nn.GroupNorm:
    return nn.GroupNorm(math.gcd(channels, max(1, channels // 16)), channels)


def convolutional_net(shape: Sequence[int], channels: int, classes: int) -> nn.Sequential:
    """Two 5 × 5 convolutions that halve the image each, with group norms, and one linear layer.

    `shape` is channels, height and width of an image.
    """
    first = max(1, channels // 2)
    places = math.ceil(shape[1] / 4) * math.ceil(shape[2] / 4)
    return nn.Sequential(
        nn.Conv2d(shape[0], first, 5, 2, 2),
        _norm(first),
        nn.ReLU(),
        nn.Conv2d(first, channels, 5, 2, 2),
        _norm(channels),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(places * channels, classes),
    )


class StandardisedConv(nn.Conv2d):
    """A 3 × 3 convolution whose filters are brought to mean 0 and length 1 (Qiao et al., arXiv 1903.10520).

    Without batch statistics, this lets a net learn fast from large mini-batches.
    """

    def __init__(self, channels_in: int, channels: int) -> None:
        super().__init__(channels_in, channels, 3, 1, 1, bias=False)

    def forward(self, images: Tensor) -> Tensor:
        """Map images `(samples, channels in, h, w)` to `(samples, channels, h, w)`."""
        weight = self.weight - self.weight.mean((1, 2, 3), keepdim=True)
        length = (weight.square().sum((1, 2, 3), keepdim=True) + 1e-6).sqrt()
        return conv2d(images, weight / length, padding=1)


class Residual(nn.Module):
    """A residual block: two convolutions with group norms, and a skip connection."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first, self.second = (StandardisedConv(channels, channels) for _ in range(2))
        self.first_norm, self.second_norm = _norm(channels), _norm(channels)
        # The block begins as the skip connection alone, which learns faster.
        nn.init.zeros_(self.second_norm.weight)

    def forward(self, images: Tensor) -> Tensor:
        """`(samples, channels, h, w)`, the same shape out."""
        inner = relu(self.first_norm(self.first(images)))
        return relu(self.second_norm(self.second(inner)) + images)


def residual_net(width: int, blocks: int, classes: int) -> nn.Sequential:
    """Four stages, each on an image half as wide: a convolution and, from the second on, `blocks` residual blocks.

    They have `width`, 2·`width`, 4·`width` and 4·`width` channels.
    """
    layers: list[nn.Module] = []
    channels = 3
    for stage, times in enumerate((1, 2, 4, 4)):
        wider = times * width
        layers += [nn.MaxPool2d(2)] * (stage > 0)
        layers += [StandardisedConv(channels, wider), _norm(wider), nn.ReLU()]
        layers += [Residual(wider) for _ in range(blocks) if stage > 0]
        channels = wider
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


class CausalNet(nn.Module):
    """A net that predicts each next symbol by causal convolutions, each with twice the reach of the last.

    Layer l adds to a symbol's features a rectified mix of them and of those 2^l symbols earlier, so that with
    three layers a prediction sees eight symbols. In equal time on one core it learned faster than a small GRU
    or attention.
    """

    def __init__(self, symbols: int, width: int, layers: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(symbols, width)
        self.mix = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(layers))
        self.out = nn.Linear(width, symbols)

    def forward(self, text: Tensor) -> Tensor:
        """`(samples, length)` symbols to `(samples, length, symbols)` log-odds of the next one."""
        features = self.embed(text)
        for layer, mix in enumerate(self.mix):
            reach = min(2**layer, features.shape[1])
            # Pad with zeros before the beginning of the text.
            earlier = pad(features, (0, 0, reach, 0))[:, : features.shape[1]]
            features = features + relu(mix(torch.cat((earlier, features), -1)))
        out: Tensor = self.out(features)
        return out
