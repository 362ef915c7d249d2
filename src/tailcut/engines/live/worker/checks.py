"""What cannot be trained live, told before anybody waits for anybody."""

from __future__ import annotations

import os

import torch
from torch import nn

from tailcut.engines.live.data.trailer import MOST_SAMPLES
from tailcut.errors import ParameterError
from tailcut.types import Seconds

LATE = ("finish", "abandon")
RATES = ("fixed", "linear", "sqrt", "gain")


def check_settings(
    late: str, rate: str, total: int | None, max_wait: Seconds, clip_norm: float | None, min_workers: int
) -> None:
    """Refuse parameters that cannot be. Whether there are so many workers at all is the controller's to say.

    Raises:
        ParameterError: says which.
    """
    if late not in LATE:
        raise ParameterError(f"late must be 'finish' or 'abandon', but got {late!r}.")
    if rate not in RATES:
        raise ParameterError(f"rate must be one of {', '.join(RATES)}, but got {rate!r}.")
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
    if isinstance(optimiser, torch.optim.LBFGS):
        raise ParameterError(
            "LBFGS computes several gradients in one step. Give an optimiser that takes one."
        )
    if hasattr(optimiser, "until_closed"):
        raise ParameterError(
            "The optimiser is wrapped already. Wrap it once, with the module that holds all."
        )
    own = {id(each) for each in module.parameters()}
    for number, group in enumerate(optimiser.param_groups):
        for parameter in group["params"]:
            if id(parameter) not in own:
                raise ParameterError(
                    f"Group {number} of the optimiser has a parameter of shape {tuple(parameter.shape)} that is not "
                    "the module's, so it would not be averaged. Give the module that holds all parameters."
                )


def check_samples(samples: int) -> int:
    """The same number, if so many samples can be counted."""
    if not 0 <= samples <= MOST_SAMPLES:
        raise ParameterError(f"samples must be from 0 to {MOST_SAMPLES}, but got {samples}.")
    return samples


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
