"""The position of every worker in its data, which every worker knows from the log of updates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import final

from tailcut.errors import InputError
from tailcut.types import WorkerId


@final
@dataclass(frozen=True, slots=True)
class Positions:
    """The number of gradients of each worker that are in updates.

    If a worker repeats each mini-batch until its gradient is in an update, this is also the number of the
    mini-batch it is at. The log of updates tells it of all workers, so a checkpoint that one worker writes
    has the positions of all, and no sample is lost or counted twice when the run resumes from it. If dropped
    mini-batches are not repeated, use the version as the number.

    Attributes:
        kept: number by worker; 0 for a worker that is not in it.

    Example:
        >>> here = Positions().after([0, 1]).after([1])
        >>> here.of(0), here.of(1), here.of(2)
        (1, 2, 0)
    """

    kept: Mapping[WorkerId, int] = field(default_factory=dict)

    def of(self, worker: WorkerId) -> int:
        """Return the number of the mini-batch that the worker is at."""
        return self.kept.get(worker, 0)

    def after(self, accepted: Iterable[WorkerId]) -> Positions:
        """Return the positions after one more update, of these workers' gradients."""
        return Positions({**self.kept, **{worker: self.of(worker) + 1 for worker in accepted}})

    def state(self) -> list[list[int]]:
        """Return the positions in plain values: pairs of a worker and its number."""
        return [[worker, number] for worker, number in sorted(self.kept.items())]

    @classmethod
    def at(cls, state: object) -> Positions:
        """Return the positions in a state that `state` returned.

        Raises:
            InputError: it is no such state.
        """
        kept: dict[WorkerId, int] = {}
        for pair in state if isinstance(state, list) else [None]:
            match pair:
                case [int(worker), int(number)] if worker >= 0 and number >= 0:
                    kept[worker] = number
                case _:
                    raise InputError(f"This is no state of positions in data: {str(state)[:80]}.")
        return cls(kept)
