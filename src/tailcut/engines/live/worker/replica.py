"""A worker's copy of what is trained: applies updates in order, each exactly as every other copy does."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from tailcut.engines.live.worker.groups import Groups, RateOf
from tailcut.errors import ParameterError

AfterUpdate = Callable[[int], None]
"""Function that is called with the version after each update, on every worker, late or not."""


@runtime_checkable
class Scheduler(Protocol):
    """An object that sets learning rates and is stepped once per update."""

    def step(self) -> None:
        """Take one step, after an update was made."""

    def state_dict(self) -> dict[str, Any]:
        """Return the scheduler's state."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state."""


def digest(tensors: Iterable[Tensor]) -> bytes:
    """Return a checksum of the values in some tensors, to the bit.

    Example:
        >>> digest([torch.zeros(2)]) == digest([torch.zeros(2)]), digest([torch.zeros(2)]) == digest([-torch.zeros(2)])
        (True, False)
    """
    found = 0
    for each in tensors:
        numbers = each.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
        found = zlib.crc32(numbers.data, found)
    return struct.pack(">I", found)


def unsaved_buffers(module: nn.Module) -> dict[str, Tensor]:
    """Return the buffers of a net that its `state_dict()` does not hold, by name.

    Example:
        >>> net = nn.Linear(1, 1)
        >>> net.register_buffer("phase", torch.zeros(2), persistent=False)
        >>> unsaved_buffers(net)
        {'phase': tensor([0., 0.])}
    """
    saved = module.state_dict(keep_vars=True).keys()
    return {name: buffer for name, buffer in module.named_buffers() if name not in saved}


class Replica:
    """Parameters, their optimizer, and all that belongs to an update.

    Args:
        module: the net.
        optimiser: the user's own, of torch.
        scheduler: stepped after every update, replayed ones too; or a function of the version that returns the rate.
        clip_norm: largest norm of the mean gradient; None for no limit.
        after_update: the user's function that is called with the version after every update.
        total: version at which the run ends; None for none.

    Attributes:
        groups: the options of the optimizer.
        total: version at which the run ends; None for none.
        parameters: those of the optimizer, as it was wrapped.
    """

    def __init__(
        self,
        module: nn.Module,
        optimiser: torch.optim.Optimizer,
        scheduler: Scheduler | RateOf | None = None,
        clip_norm: float | None = None,
        after_update: AfterUpdate | None = None,
        total: int | None = None,
    ) -> None:
        self.module, self.optimiser = module, optimiser
        self.version, self.groups = 0, Groups(optimiser)
        self._scheduler = scheduler if isinstance(scheduler, Scheduler) else None
        self._rate_of: RateOf | None = None
        if scheduler is not None and not isinstance(scheduler, Scheduler):
            if not callable(scheduler):
                raise ParameterError(
                    "scheduler must have step(), state_dict() and load_state_dict(), or be a function of the version, "
                    f"but got {scheduler!r}."
                )
            self._rate_of = scheduler
        self._clip_norm, self._after_update, self.total = clip_norm, after_update, total
        self.parameters = [each for group in optimiser.param_groups for each in group["params"]]
        self._set_rates()
        # Options that no update can carry are refused before any other worker waits for this one.
        self.groups.read()

    def _set_rates(self) -> None:
        """Set the learning rates of the next update, where a function of the version gives them."""
        if self._rate_of is not None and self.version != self.total:
            self.groups.set_rates(self._rate_of, self.version)

    def digest(self) -> bytes:
        """Return a checksum of the parameters: equal nets have equal ones."""
        return digest(self.parameters)

    def state(self) -> dict[str, Any]:
        """Return the state that makes a copy equal to this one, and go on alike."""
        scheduler = None if self._scheduler is None else self._scheduler.state_dict()
        parts = (self.module.state_dict(), self.optimiser.state_dict(), scheduler)
        return {"version": self.version, "net": dict(parts[0]), "optimiser": parts[1], "scheduler": parts[2]}

    def load(self, state: dict[str, Any]) -> None:
        """Load the state of another copy, and so become equal to it."""
        self.module.load_state_dict(state["net"])
        self.optimiser.load_state_dict(state["optimiser"])
        if self._scheduler is not None:
            self._scheduler.load_state_dict(state["scheduler"])
        self.version = state["version"]
        self._set_rates()

    def apply(self, scale: float, options: bytes = b"") -> None:
        """Make one update with the mean gradient that is in the parameters' `grad`.

        Args:
            scale: factor on the learning rates in this update.
            options: packed options of the parameter groups to make it with; empty for those that are set.
        """
        if options:
            self.groups.impose(options)
        if self._clip_norm is not None:
            with_gradient = [each for each in self.parameters if each.grad is not None]
            nn.utils.clip_grad_norm_(with_gradient, self._clip_norm)
        rates = [group["lr"] for group in self.optimiser.param_groups]
        for group, rate in zip(self.optimiser.param_groups, rates, strict=True):
            group["lr"] = rate * scale
        self.optimiser.step()
        for group, rate in zip(self.optimiser.param_groups, rates, strict=True):
            group["lr"] = rate
        if self._scheduler is not None:
            self._scheduler.step()
        self.version += 1
        self._set_rates()
        if self._after_update is not None:
            self._after_update(self.version)
