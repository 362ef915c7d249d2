"""What must be the same at every worker, or copies of the net would drift apart."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

import torch
from torch import Tensor, nn

from tailcut.engines.live.messages import Alike
from tailcut.engines.live.worker.replica import digest


def alike(module: nn.Module, optimiser: torch.optim.Optimizer, settings: str, given: str = "") -> Alike:
    """What this worker has.

    Args:
        module: the net.
        optimiser: its own.
        settings: in words.
        given: `described(optimiser)` before a checkpoint was loaded; empty where none was.
    """
    state = module.state_dict(keep_vars=True)
    return Alike(
        torch=str(torch.__version__),
        machine=_machine(module),
        optimiser=given or described(optimiser),
        parameters=_parameters(state),
        settings=settings,
        numbers=digest([*state.values(), *_kept(optimiser)]).hex(),
    )


def _kept(optimiser: torch.optim.Optimizer) -> list[Tensor]:
    """What the optimiser carries from step to step, such as momentum: after a checkpoint was loaded."""
    parameters = [each for group in optimiser.param_groups for each in group["params"]]
    kept = (optimiser.state.get(each, {}) for each in parameters)
    return [value for each in kept for _, value in sorted(each.items()) if isinstance(value, Tensor)]


def _machine(module: nn.Module) -> str:
    device = next(module.parameters()).device
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"CPU with {torch.backends.cpu.get_cpu_capability()}"


def described(optimiser: torch.optim.Optimizer) -> str:
    """Class and flags; learning rates too, for they are where schedules begin.

    After a checkpoint was loaded they are where schedules have come to, and another worker may have loaded none.
    """
    groups = [
        ", ".join(f"{key}={value}" for key, value in sorted(group.items()) if key != "params")
        for group in optimiser.param_groups
    ]
    return f"{type(optimiser).__name__}({'; '.join(groups)})"


def _parameters(state: Mapping[str, Tensor]) -> str:
    """How many there are, and a digest of names, shapes, types, and what is trained."""
    names = blake2b(digest_size=8)
    for name, each in state.items():
        names.update(f"{name} {tuple(each.shape)} {each.dtype} {each.requires_grad};".encode())
    count = sum(each.numel() for each in state.values())
    return f"{len(state)} tensors of {count} numbers, {names.hexdigest()}"
