"""Copies of many tensors, times a factor, into the parts of one vector; and of the parts, divided, back.

Few large tensors take one pass over memory each. For many small ones a call each would cost more than a further pass
over the vector, so they are copied together and the vector is scaled as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

LARGE = 1 << 14
"""Elements from which on a pass over a tensor costs more than a call."""


def mostly_small(sizes: Sequence[int]) -> bool:
    """Return whether tensors of these sizes are better copied together."""
    return sum(sizes) < LARGE * len(sizes)


def gather(values: Sequence[Tensor | None], parts: Sequence[Tensor], factor: float) -> None:
    """Set each part to its value times the factor, in the precision of the part; None counts as zero."""
    for value, part in zip(values, parts, strict=True):
        if value is None:
            part.zero_()
        elif _alike(value, part):
            torch.mul(value, factor, out=part)
        else:
            part.copy_(value).mul_(factor)


def gather_together(
    values: Sequence[Tensor | None], parts: Sequence[Tensor], vector: Tensor, factor: float
) -> None:
    """Do as `gather`, for many small values; the parts must be all of the vector."""
    pairs = [(value, part) for value, part in zip(values, parts, strict=True) if value is not None]
    if len(pairs) < len(parts):
        vector.zero_()
    if pairs:
        torch._foreach_copy_([part for _, part in pairs], [value for value, _ in pairs])
    vector.mul_(factor)


def spread(parts: Sequence[Tensor], outs: Sequence[Tensor | None], divisor: int) -> None:
    """Set each out to its part divided by the divisor, in the precision of the part; None is skipped."""
    for part, out in zip(parts, outs, strict=True):
        if out is not None and _alike(part, out):
            torch.div(part, divisor, out=out)
        elif out is not None:
            out.copy_(part / divisor)


def spread_together(
    parts: Sequence[Tensor], vector: Tensor, outs: Sequence[Tensor | None], divisor: int
) -> None:
    """Do as `spread`, for many small outs; the vector is divided in place."""
    vector.div_(divisor)
    pairs = [(part, out) for part, out in zip(parts, outs, strict=True) if out is not None]
    if pairs:
        torch._foreach_copy_([out for _, out in pairs], [part for part, _ in pairs])


def _alike(one: Tensor, other: Tensor) -> bool:
    return one.dtype == other.dtype and one.device == other.device
