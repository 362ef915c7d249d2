"""What cannot be trained live, told before anybody waits for anybody."""

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
    """Refuse parameters that cannot be. Whether there are so many workers at all is the controller's to say.

    Raises:
        ParameterError: says which.
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
    """Refuse a net or an optimiser that copies of would drift apart, or wait for each other.

    Raises:
        ParameterError: says why.
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
    """Refuse parameters that are not those of the net: nobody would average their gradients, if they have any.

    Raises:
        ParameterError: says which.
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
    """Refuse a net of which any part has run within a DistributedDataParallel, whoever has made it.

    A pass of such a part need not be a pass of the net, so that `refuse_ddp` may not see it.

    Raises:
        ParameterError: a part has.
    """
    own = {id(each) for each in module.parameters()}
    if not _active_wrappers(own):
        return
    # One that nothing refers to any more may only wait for its memory to be freed.
    gc.collect()
    for each in _active_wrappers(own):
        raise ParameterError(
            f"A part of the net, {type(each.module).__name__}, runs within DistributedDataParallel, which waits for "
            "all workers in every backward pass and averages the gradients itself. Leave the wrapper out: tailcut "
            "averages the gradients."
        )


def _active_wrappers(own: Collection[int]) -> list[nn.parallel.DistributedDataParallel]:
    """Return the wrappers of some of these parameters that had a pass; one without reduces nothing."""
    # Torch keeps no list of them, so the types of all objects are looked at: once in a run.
    kind = nn.parallel.DistributedDataParallel
    found = [each for each in gc.get_objects() if kind in type(each).__mro__]
    return [
        each
        for each in found
        # One whose making failed lacks attributes.
        if each.__dict__.get("_lazy_init_ran", False) and any(id(p) in own for p in each.module.parameters())
    ]


def mostly_frozen(optimizer: torch.optim.Optimizer) -> str | None:
    """Return a sentence where most of every update would be room for frozen parameters; None where not."""
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
    """Forward pre-hook: refuse a pass of the net within DistributedDataParallel, whoever has wrapped it, and when.

    Raises:
        ParameterError: it is in such a pass.
    """
    if nn.parallel.DistributedDataParallel._active_ddp_module is not None:
        raise ParameterError(
            "The net runs within DistributedDataParallel, which waits for all workers in every backward pass and "
            "averages the gradients itself. Call the net that is inside, net.module, or tell the framework that wraps "
            "it not to: tailcut averages the gradients."
        )


def check_samples(samples: int) -> int:
    """The same number, if so many samples can be counted."""
    if not 0 <= samples <= MOST_SAMPLES:
        raise ParameterError(f"samples must be from 0 to {MOST_SAMPLES}, but got {samples}.")
    return samples


FSDP, SHARDED = "torch.distributed.fsdp", "torch.distributed.optim"
"""Packages of the classes of sharded nets and optimizers. Importing them would take long."""
MANY_FROZEN = 10_000_000
"""Frozen numbers in an optimizer from which on the room that they take is worth a sentence."""
FSDP = "torch.distributed.fsdp"
"""Package of the classes of sharded nets. Importing it would take long."""
SHARED = "TAILCUT_SHARED_MEMORY"
"""Environment variable: `off` keeps workers of one machine from adding up in memory that they share."""
SHARED = "TAILCUT_SHARED_MEMORY"
"""Environment variable: `off` keeps workers of one machine from adding up in memory that they share."""


def shares_memory() -> bool:
    """Whether this worker's gradients may be in memory that others of its machine see.

    Raises:
        ParameterError: the environment says something else than `on` or `off`.
    """
    told = os.environ.get(SHARED, "on")
    if told not in ("on", "off"):
        raise ParameterError(f"{SHARED} must be on or off, but got {told!r}.")
    return told == "on"
