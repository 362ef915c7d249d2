"""Where every worker is in its data, as every worker knows it: from the log of updates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import final

from tailcut.errors import InputError
from tailcut.types import WorkerId


@final
@dataclass(frozen=True, slots=True)
class Positions:
    """How many gradients of each worker are in updates.

    Where a worker takes a mini-batch again whose gradient was dropped, and goes on only when it is in an update, this
    is also the number of the mini-batch it is at. The log of updates says it of everybody, so that a checkpoint which
    one worker writes has the position of all, and no sample is lost or counted twice by going on from it. Where
    dropped mini-batches are not taken again, let the version be the number.

    Attributes:
        kept: by worker; who is not in it has none.

    Example:
        >>> here = Positions().after([0, 1]).after([1])
        >>> here.of(0), here.of(1), here.of(2)
        (1, 2, 0)
    """

    kept: Mapping[WorkerId, int] = field(default_factory=dict)

    def of(self, worker: WorkerId) -> int:
        """Number of the mini-batch that the worker is at."""
        return self.kept.get(worker, 0)

    def after(self, accepted: Iterable[WorkerId]) -> Positions:
        """With one more update, of these workers' gradients."""
        return Positions({**self.kept, **{worker: self.of(worker) + 1 for worker in accepted}})

    def state(self) -> list[list[int]]:
        """In plain values: a worker and its number, each."""
        return [[worker, number] for worker, number in sorted(self.kept.items())]

    @classmethod
    def at(cls, state: object) -> Positions:
        """Those of a state.

        Raises:
            InputError: it is none.
        """
        kept: dict[WorkerId, int] = {}
        for pair in state if isinstance(state, list) else [None]:
            match pair:
                case [int(worker), int(number)] if worker >= 0 and number >= 0:
                    kept[worker] = number
                case _:
                    raise InputError(f"This is no state of positions in data: {str(state)[:80]}.")
        return cls(kept)
