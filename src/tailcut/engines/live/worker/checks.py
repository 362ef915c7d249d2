"""Checks that refuse what cannot be trained live, before any worker waits for another."""

from __future__ import annotations

import gc
import os
from collections.abc import Collection

import torch
from torch import nn

from tailcut.engines.live.data.trailer import MOST_SAMPLES
from tailcut.engines.live.messages import BROADCAST
from tailcut.errors import ParameterError
from tailcut.types import Seconds

LATE = ("finish", "abandon")
INITIAL = (BROADCAST, "compare")
RATES = ("fixed", "linear", "sqrt", "gain")


def check_settings(
    late: str,
    rate: str,
    total: int | None,
    max_wait: Seconds,
    clip_norm: float | None,
    min_workers: int,
    initial: str = BROADCAST,
) -> None:
    """Refuse settings that cannot be. The controller checks whether there are `min_workers` workers at all.

    Raises:
        ParameterError: one cannot be; the message says which.
    """
    if late not in LATE:
        raise ParameterError(f"late must be 'finish' or 'abandon', but got {late!r}.")
    if rate not in RATES:
        raise ParameterError(f"rate must be one of {', '.join(RATES)}, but got {rate!r}.")
    if initial not in INITIAL:
        raise ParameterError(f"initial must be 'broadcast' or 'compare', but got {initial!r}.")
    if total is not None and total < 1:
        raise ParameterError(f"total must be at least 1 update, but got {total}. Leave it out for no end.")
    if not max_wait > 0:
        raise ParameterError(f"max_wait must be over 0 seconds, but got {max_wait}. Give 300, say.")
    if min_workers < 1:
        raise ParameterError(f"min_workers must be at least 1, but got {min_workers}. Leave it out for 1.")
    if clip_norm is not None and not clip_norm > 0:
        raise ParameterError(f"clip_norm must be over 0, but got {clip_norm}. Leave it out for no clipping.")


def check_net(module: nn.Module, optimiser: torch.optim.Optimizer) -> None:
    """Refuse a net or an optimizer whose copies would drift apart, or wait for each other.

    Raises:
        ParameterError: it is refused; the message says why.
    """
    for name, each in module.named_modules():
        if isinstance(each, nn.SyncBatchNorm):
            raise ParameterError(
                f"{name!r} is a SyncBatchNorm, which waits for all workers in every pass. Use BatchNorm: the running "
                "statistics of those in an update are averaged."
            )
        if isinstance(each, nn.parallel.DistributedDataParallel):
            raise ParameterError(
                "The net is wrapped in DistributedDataParallel, which averages over all workers itself. "
                "Give the net that is inside, net.module."
            )
        if any(kind.__module__.startswith(FSDP) for kind in type(each).__mro__):
            which = repr(name) if name else "The net"
            raise ParameterError(
                f"{which} is sharded by FSDP, so no worker has all of it, and every pass waits for all "
                "workers. Give the net as it is before: every worker of tailcut has a copy."
            )
    if any(kind.__module__.startswith(SHARDED) for kind in type(optimiser).__mro__):
        raise ParameterError(
            f"{type(optimiser).__name__} shares its state out among the workers, so every step waits for all of them. "
            "Give an ordinary optimiser: every worker of tailcut has the whole state."
        )
    if isinstance(optimiser, torch.optim.LBFGS):
        raise ParameterError(
            "LBFGS computes several gradients in one step. Give an optimiser that takes one."
        )
    if hasattr(optimiser, "until_closed"):
        raise ParameterError(
            "The optimiser is wrapped already. Wrap it once, with the module that holds all."
        )
    check_parameters(module, optimiser)


def check_parameters(module: nn.Module, optimiser: torch.optim.Optimizer) -> None:
    """Refuse parameters of the optimizer that are not the net's: their gradients would not be averaged.

    Raises:
        ParameterError: there is one; the message says which.
    """
    own = {id(each) for each in module.parameters()}
    for number, group in enumerate(optimiser.param_groups):
        for parameter in group["params"]:
            if id(parameter) not in own:
                raise ParameterError(
                    f"Group {number} of the optimiser has a parameter of shape {tuple(parameter.shape)} that is not "
                    "the module's, so it would not be averaged. Give the module that holds all parameters, and do not "
                    "replace them afterwards, as FSDP does."
                )


def check_unwrapped(module: nn.Module) -> None:
    """Refuse a net of which any part has run within a DistributedDataParallel, whatever code has made that.

    A pass of such a part need not be a pass of the net, so that `refuse_ddp` may not see it.

    Raises:
        ParameterError: a part of the net has run so.
    """
    own = {id(each) for each in module.parameters()}
    if not _active_wrappers(own):
        return
    # A wrapper that nothing refers to any more may only wait for the garbage collector.
    gc.collect()
    for each in _active_wrappers(own):
        raise ParameterError(
            f"A part of the net, {type(each.module).__name__}, runs within DistributedDataParallel, which waits for "
            "all workers in every backward pass and averages the gradients itself. Leave the wrapper out: tailcut "
            "averages the gradients."
        )


def _active_wrappers(own: Collection[int]) -> list[nn.parallel.DistributedDataParallel]:
    """Return the wrappers of some of these parameters that had a forward pass; others reduce nothing."""
    # Torch keeps no list of them, so the types of all objects are looked at: once in a run.
    kind = nn.parallel.DistributedDataParallel
    found = [each for each in gc.get_objects() if kind in type(each).__mro__]
    return [
        each
        for each in found
        # A wrapper whose constructor failed lacks attributes.
        if each.__dict__.get("_lazy_init_ran", False) and any(id(p) in own for p in each.module.parameters())
    ]


def mostly_frozen(optimizer: torch.optim.Optimizer) -> str | None:
    """Return a warning if frozen parameters take up much, and at least half, of every update; else None."""
    numbers = {True: 0, False: 0}
    for group in optimizer.param_groups:
        for each in group["params"]:
            numbers[each.requires_grad] += each.numel() if each.is_floating_point() else 0
    trained, frozen = numbers[True], numbers[False]
    if frozen < max(trained, MANY_FROZEN):
        return None
    return (
        f"{frozen} of the {trained + frozen} numbers in the optimizer are frozen, and every update has room for them: "
        "the script may unfreeze them. Leave them out of the optimizer if they stay frozen."
    )


def refuse_ddp(module: nn.Module, inputs: object) -> None:
    """Refuse, as a forward pre-hook, a pass of the net within DistributedDataParallel.

    Raises:
        ParameterError: the net is in such a pass.
    """
    if nn.parallel.DistributedDataParallel._active_ddp_module is not None:
        raise ParameterError(
            "The net runs within DistributedDataParallel, which waits for all workers in every backward pass and "
            "averages the gradients itself. Call the net that is inside, net.module, or tell the framework that wraps "
            "it not to: tailcut averages the gradients."
        )


def check_samples(samples: int) -> int:
    """Return the number of samples, or raise a ParameterError if it is not from 0 to `MOST_SAMPLES`."""
    if not 0 <= samples <= MOST_SAMPLES:
        raise ParameterError(f"samples must be from 0 to {MOST_SAMPLES}, but got {samples}.")
    return samples


FSDP, SHARDED = "torch.distributed.fsdp", "torch.distributed.optim"
"""Packages of the classes of sharded nets and optimizers. Importing them would take long."""
MANY_FROZEN = 10_000_000
"""Fewest frozen elements in an optimizer that are worth a warning."""
FSDP = "torch.distributed.fsdp"
"""Package of the classes of sharded nets. Importing it would take long."""
SHARED = "TAILCUT_SHARED_MEMORY"
"""Environment variable: `off` keeps workers of one machine from reducing in shared memory."""
SHARED = "TAILCUT_SHARED_MEMORY"
"""Environment variable: `off` keeps workers of one machine from reducing in shared memory."""


def shares_memory() -> bool:
    """Return whether this worker's gradients may be in memory that other workers of its machine see.

    Raises:
        ParameterError: the environment says something else than `on` or `off`.
    """
    told = os.environ.get(SHARED, "on")
    if told not in ("on", "off"):
        raise ParameterError(f"{SHARED} must be on or off, but got {told!r}.")
    return told == "on"
