"""How many samples a batch holds, and how many of its micro-batches were computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from torch import Tensor

from tailcut.errors import ParameterError


def samples_of(batch: Any) -> int:
    """The length of the first tensor in a batch, however it is wrapped; 1 where there is none.

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
    """Micro-batches of one step.

    Attributes:
        many: samples there are in all of them; 1 where nobody counts.
        done: of these.
        dropped: what was computed is not wanted.

    Example:
        >>> half = Micro(many=8, done=4)
        >>> half.share, half.of(32), Micro().share
        (0.5, 16, 1.0)
    """

    many: int = 1
    done: int = 0
    dropped: bool = False

    def after(self, samples: int) -> Micro:
        """With one of so many samples done; 0 where they are not counted."""
        return replace(self, done=min(self.done + samples, self.many))

    @property
    def share(self) -> float:
        """Of the mini-batch that was computed."""
        return self.done / self.many if self.done else 1.0

    def of(self, samples: int) -> int:
        """The part of the samples of a mini-batch."""
        return min(samples, max(1, round(samples * self.share)))


def sizes_of(batches: Iterable[Any]) -> list[int]:
    """Samples of each micro-batch; where these cannot be looked at without taking them, each counts the same.

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
