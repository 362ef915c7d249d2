"""What must be the same at every worker, or copies of the net would drift apart."""

from __future__ import annotations

from hashlib import blake2b

import torch
from torch import nn

from tailcut.engines.live.messages import Alike


def alike(module: nn.Module, optimiser: torch.optim.Optimizer, settings: str) -> Alike:
    """What this worker has."""
    return Alike(
        str(torch.__version__), _machine(module), _optimiser(optimiser), _parameters(module), settings
    )


def _machine(module: nn.Module) -> str:
    device = next(module.parameters()).device
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"CPU with {torch.backends.cpu.get_cpu_capability()}"


def _optimiser(optimiser: torch.optim.Optimizer) -> str:
    """Class and flags; learning rates too, for they are where schedules begin."""
    groups = [
        ", ".join(f"{key}={value}" for key, value in sorted(group.items()) if key != "params")
        for group in optimiser.param_groups
    ]
    return f"{type(optimiser).__name__}({'; '.join(groups)})"


def _parameters(module: nn.Module) -> str:
    """A digest of names, shapes, types, what is trained, and the numbers themselves."""
    digest = blake2b(digest_size=16)
    for name, each in module.state_dict(keep_vars=True).items():
        digest.update(f"{name} {tuple(each.shape)} {each.dtype} {each.requires_grad};".encode())
        digest.update(each.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
