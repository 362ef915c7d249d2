"""How many samples a batch holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor


def samples_of(batch: Any) -> int:
    """The length of the first tensor in a batch, however it is wrapped; 1 where there is none.

    Example:
        >>> import torch
        >>> samples_of((torch.zeros(32, 3), torch.zeros(32))), samples_of({"x": torch.zeros(8, 2)}), samples_of("?")
        (32, 8, 1)
    """
    first = _first(batch)
    return 1 if first is None or first.dim() == 0 else max(1, len(first))


def _first(batch: Any) -> Tensor | None:
    if isinstance(batch, Tensor):
        return batch
    inside = (
        batch.values() if isinstance(batch, Mapping) else batch if isinstance(batch, tuple | list) else ()
    )
    return next((found for each in inside if (found := _first(each)) is not None), None)
