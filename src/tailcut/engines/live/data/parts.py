"""The parts of a net that take part in an update: parameters that are trained, and buffers saved with it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TypeAlias, final

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from tailcut.errors import ParameterError

Named: TypeAlias = list[tuple[str, nn.Parameter]]


def parameters(module: nn.Module, optimized: Collection[Tensor] = ()) -> tuple[Named, Named]:
    """Return the parameters that take part and those that do not, each once, in the net's order.

    A frozen parameter takes part if the optimizer has it: a script may unfreeze it during the run.

    Args:
        module: the net.
        optimized: the parameters of the optimizer.
    """
    named, known = list(module.named_parameters()), {id(each) for each in optimized}
    trained: Named = []
    frozen: Named = []
    for name, each in named:
        may_be_trained = each.is_floating_point() and id(each) in known
        (trained if each.requires_grad or may_be_trained else frozen).append((name, each))
    _refuse(named)
    return trained, frozen


def averaged(module: nn.Module) -> list[Place]:
    """Return the places of the buffers to average, each once. Unsaved buffers stay each worker's own."""
    seen: set[int] = set()
    found: list[Place] = []
    for owner in module.modules():
        for name, buffer in owner._buffers.items():
            if buffer is None or id(buffer) in seen or name in owner._non_persistent_buffers_set:
                continue
            seen.add(id(buffer))
            _refuse_lazy(name, buffer)
            if not buffer.is_complex():
                found.append(Place(owner, name, buffer.shape))
    return found


def refuse_gradients(trained: Named, frozen: Named) -> None:
    """Refuse gradients that cannot be averaged, or that would be applied without being averaged."""
    for name, parameter in trained:
        if parameter.grad is not None and parameter.grad.layout != torch.strided:
            raise ParameterError(f"The gradient of {name!r} is sparse. Make its layer with sparse=False.")
    for name, parameter in frozen:
        if parameter.grad is not None:
            raise ParameterError(
                f"Parameter {name!r} has a gradient, but was frozen and not in the optimizer when that was wrapped, so "
                "it is not averaged. Give it to the optimizer before wrapping, frozen or not, or set its grad to None."
            )


def widest(tensors: Iterable[Tensor]) -> torch.dtype:
    """Return single precision, or a type that also holds the wider ones among the tensors."""
    found = torch.float32
    for each in tensors:
        found = torch.promote_types(found, each.dtype)
    return found


@final
@dataclass(frozen=True, slots=True)
class Place:
    """The place of a buffer in its module, which may put another tensor there at every pass."""

    owner: nn.Module
    name: str
    shape: torch.Size

    @property
    def buffer(self) -> Tensor:
        """Return the tensor that is there now."""
        found = self.owner._buffers.get(self.name)
        if found is None or found.shape != self.shape:
            now = "gone" if found is None else f"of shape {tuple(found.shape)}"
            raise ParameterError(
                f"Buffer {self.name!r} of {type(self.owner).__name__} had shape {tuple(self.shape)} when the optimiser "
                f"was wrapped and is now {now}. Register it with persistent=False if it is a cache."
            )
        return found


def _refuse(named: Named) -> None:
    for name, parameter in named:
        _refuse_lazy(name, parameter)
        if parameter.requires_grad and not parameter.is_floating_point():
            raise ParameterError(
                f"Parameter {name!r} is {parameter.dtype}; only real floating parameters can be averaged. "
                "Store it as its real and imaginary part."
            )
    if not any(parameter.requires_grad for _, parameter in named):
        raise ParameterError(
            "The net has no trainable parameter. Unfreeze some before wrapping the optimiser."
        )


def _refuse_lazy(name: str, tensor: Tensor) -> None:
    if is_lazy(tensor):
        raise ParameterError(f"{name!r} of the net has no shape yet. Pass one batch through it first.")
