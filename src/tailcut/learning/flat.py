"""A net whose parameters are one vector: easy to copy, to keep for stale gradients, and to save."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn.modules.batchnorm import _BatchNorm

from tailcut.learning.chosen import Chosen
from tailcut.learning.tasks.base import Predict


class FlatNet:
    """A net and the vector that holds its parameters.

    The parameters of `module` are views into `vector`: a change of the vector in place changes the net.

    Args:
        module: the net; its parameters are moved into the vector.
    """

    def __init__(self, module: torch.nn.Module) -> None:
        self.module = module
        named = [(name, each) for name, each in module.named_parameters() if each.requires_grad]
        self._names = [name for name, _ in named]
        self._shapes = [each.shape for _, each in named]
        self._sizes = [each.numel() for _, each in named]
        self.vector = torch.cat([each.detach().reshape(-1) for _, each in named])
        self._parameters = [each for _, each in named]
        for parameter, view in zip(self._parameters, self._split(self.vector), strict=True):
            parameter.data = view

    @property
    def batch_statistics(self) -> bool:
        """Return whether samples of one pass influence each other, so that workers must not share a pass."""
        return any(isinstance(each, _BatchNorm) for each in self.module.modules())

    @property
    def layout(self) -> tuple[list[str], list[int]]:
        """Names of the parameters in the order of the vector, and the number of elements of each."""
        return self._names, self._sizes

    def gradient(self, loss: Tensor) -> Tensor:
        """Return the `(parameters,)` gradient of a loss that was computed with the net itself."""
        parts = torch.autograd.grad(loss, self._parameters, allow_unused=True)
        return torch.cat(
            [
                torch.zeros(size, device=self.vector.device, dtype=self.vector.dtype)
                if part is None
                else part.reshape(-1)
                for part, size in zip(parts, self._sizes, strict=True)
            ]
        )

    def at(self, vector: Tensor) -> Predict:
        """Return the net as a function with other parameters."""
        buffers: Mapping[str, Tensor] = dict(self.module.named_buffers())
        filled = dict(zip(self._names, self._split(vector), strict=True))

        def predict(*inputs: Tensor) -> Tensor:
            out: Tensor = functional_call(self.module, {**buffers, **filled}, inputs)
            return out

        return predict

    def chosen(self, prefix: str) -> Chosen:
        """Return the parameters whose names begin with a prefix; all for an empty prefix."""
        return Chosen(self._names, self._sizes, prefix)

    def put(self, vector: Tensor) -> None:
        """Copy a vector into the net's parameters."""
        self.vector.copy_(vector)

    def _split(self, vector: Tensor) -> list[Tensor]:
        parts = torch.split(vector, self._sizes)
        return [part.view(shape) for part, shape in zip(parts, self._shapes, strict=True)]
