"""Sample counts of batches, and the share of a batch's micro-batches that was computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from torch import Tensor

from tailcut.errors import ParameterError


def samples_of(batch: Any) -> int:
    """Return the length of the first tensor in a batch, however it is nested; 1 where there is none.

    Example:
        >>> import torch
        >>> samples_of((torch.zeros(32, 3), torch.zeros(32))), samples_of({"x": torch.zeros(8, 2)}), samples_of("?")
        (32, 8, 1)
    """
    first = _first(batch)
    return 1 if first is None or first.dim() == 0 else max(1, len(first))


@final
@dataclass(frozen=True, slots=True)
class Micro:
    """The progress through the micro-batches of one step.

    Attributes:
        many: samples in all of them; 1 where samples are not counted.
        done: samples that were computed; 0 where samples are not counted.
        dropped: whether the gradient is no longer wanted.

    Example:
        >>> half = Micro(many=8, done=4)
        >>> half.share, half.of(32), Micro().share
        (0.5, 16, 1.0)
    """

    many: int = 1
    done: int = 0
    dropped: bool = False

    def after(self, samples: int) -> Micro:
        """Return the progress after one more micro-batch of so many samples; 0 where they are not counted."""
        return replace(self, done=min(self.done + samples, self.many))

    @property
    def share(self) -> float:
        """Return the share of the mini-batch that was computed; 1 where samples are not counted."""
        return self.done / self.many if self.done else 1.0

    def of(self, samples: int) -> int:
        """Return how many samples of a mini-batch were computed: samples times share, at least 1."""
        return min(samples, max(1, round(samples * self.share)))


def sizes_of(batches: Iterable[Any]) -> list[int]:
    """Return the samples of each micro-batch; where `batches` is no sequence, each counts as 1.

    Example:
        >>> import torch
        >>> sizes_of(torch.zeros(10, 2).chunk(3))
        [4, 4, 2]
    """
    if isinstance(batches, Sequence):
        return [samples_of(each) for each in batches]
    try:
        return [1] * len(batches)  # type: ignore[arg-type]
    except TypeError:
        raise ParameterError(
            "With partial=True it must be known how many micro-batches there are. Give a list of them."
        ) from None


def _first(batch: Any) -> Tensor | None:
    if isinstance(batch, Tensor):
        return batch
    inside = (
        batch.values() if isinstance(batch, Mapping) else batch if isinstance(batch, tuple | list) else ()
    )
    return next((found for each in inside if (found := _first(each)) is not None), None)
