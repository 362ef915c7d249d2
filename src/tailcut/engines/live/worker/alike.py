"""The facts that must be the same at every worker, or copies of the net would drift apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b

import torch
from torch import Tensor, nn

from tailcut.engines.live.messages import BROADCAST, Alike
from tailcut.engines.live.worker.replica import digest, unsaved_buffers


def alike(
    module: nn.Module,
    optimiser: torch.optim.Optimizer,
    settings: str,
    given: str = "",
    initial: str = BROADCAST,
) -> Alike:
    """Describe what this worker begins with.

    Args:
        module: the net.
        optimiser: the user's own, of torch.
        settings: settings of tailcut that must be the same, in words.
        given: `described(optimiser, module)` before a checkpoint was loaded; empty where none was.
        initial: what happens where workers begin with different values: `broadcast` or `compare`.
    """
    return Alike(
        torch=str(torch.__version__),
        machine=_machine(module),
        optimiser=given or described(optimiser, module),
        parameters=_parameters(_tensors(module)),
        settings=settings,
        numbers=numbers_of(module, optimiser),
        initial=initial,
        unsaved=digest(unsaved_buffers(module).values()).hex() if initial == BROADCAST else "",
    )


def numbers_of(module: nn.Module, optimiser: torch.optim.Optimizer) -> str:
    """Return a digest of all values in the net and the optimizer."""
    return digest([*_tensors(module).values(), *_kept(optimiser)]).hex()


def _tensors(module: nn.Module) -> dict[str, Tensor]:
    """Return the parameters and saved buffers of the net by name, without extra state that is no tensor."""
    return {k: v for k, v in module.state_dict(keep_vars=True).items() if isinstance(v, Tensor)}


def _kept(optimiser: torch.optim.Optimizer) -> list[Tensor]:
    """Return the tensors in the optimizer's state, such as momentum."""
    parameters = [each for group in optimiser.param_groups for each in group["params"]]
    kept = (optimiser.state.get(each, {}) for each in parameters)
    return [value for each in kept for _, value in sorted(each.items()) if isinstance(value, Tensor)]


def _machine(module: nn.Module) -> str:
    device = next(module.parameters()).device
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"CPU with {torch.backends.cpu.get_cpu_capability()}"


def described(optimiser: torch.optim.Optimizer, module: nn.Module) -> str:
    """Return the optimizer's class, and the parameters and options of each group, learning rates among them.

    Call it before a checkpoint is loaded: then learning rates are where schedules begin. Afterwards they are
    where schedules have come to, and another worker may have loaded none.
    """
    names = {id(each): name for name, each in module.named_parameters()}
    groups = [
        ", ".join(
            f"{key}={_members(names, value) if key == 'params' else value}"
            for key, value in sorted(group.items())
        )
        for group in optimiser.param_groups
    ]
    return f"{type(optimiser).__name__}({'; '.join(groups)})"


def _members(names: Mapping[int, str], parameters: Sequence[Tensor]) -> str:
    """Describe which parameters a group has, and their order, in which workers copy optimizer states."""
    found = [names.get(id(each), "?") for each in parameters]
    order = blake2b(";".join(found).encode(), digest_size=4).hexdigest()
    return f"<{len(found)} from {found[0]} to {found[-1]}, {order}>" if found else "<none>"


def _parameters(state: Mapping[str, Tensor]) -> str:
    """Return the number of tensors and elements, and a digest of names, shapes, types and what is frozen."""
    names = blake2b(digest_size=8)
    for name, each in state.items():
        names.update(f"{name} {tuple(each.shape)} {each.dtype} {each.requires_grad};".encode())
    count = sum(each.numel() for each in state.values())
    return f"{len(state)} tensors of {count} numbers, {names.hexdigest()}"
