"""One state of the world, unpacked into objects so that it can be changed."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeAlias, TypeVar, final

from tailcut.engines.live.messages import Close, New
from tailcut.testing.search.bounds import Troubles
from tailcut.testing.search.controllers import Said
from tailcut.testing.search.logs import EMPTY
from tailcut.testing.search.workers import OVER, Worker

State: TypeAlias = tuple[int, ...]
"""The numbers of the controller, of the shared part, and of each worker."""
T = TypeVar("T", bound=Hashable)


class Reduction(NamedTuple):
    """One attempt to make an update.

    Attributes:
        close: the message that closed its round.
        joined: workers that have given their gradients, as a bit mask.
        broke: workers that have left it without a result, as a bit mask.
        spoilt: whether one of the gradients was changed after it was computed.
    """

    close: Close
    joined: int = 0
    broke: int = 0
    spoilt: bool = False

    @property
    def complete(self) -> bool:
        """Return whether all accepted workers have given their gradients, so that it can complete."""
        return all(self.joined >> number & 1 for number in self.close.accepted)


class Shared(NamedTuple):
    """The part of a state that belongs neither to the controller nor to a worker.

    Attributes:
        left: the number of faults that may still happen.
        reductions: the reductions that a worker is in, or may enter.
        kept: the log up to the version that all had reported, or whose checkpoint was published.
        kept_by: workers that were there at that moment, and have not been started again.
        begun: number of epochs begun, under all controllers.
        given_up: workers that the controller before this one had continued without.
        published: the log up to the version of the newest checkpoint; without checkpoints always the empty one.
    """

    left: Troubles
    reductions: tuple[Reduction, ...] = ()
    kept: int = EMPTY
    kept_by: frozenset[int] = frozenset()
    begun: int = 0
    given_up: frozenset[int] = frozenset()
    published: int = EMPTY


@final
class Numbered(Generic[T]):
    """Values, each with a number."""

    def __init__(self) -> None:
        self.values: list[T] = []
        self._numbers: dict[T, int] = {}

    def __len__(self) -> int:
        return len(self.values)

    def number(self, value: T) -> int:
        """Return the number of a value; a new value gets the next number."""
        known = self._numbers.get(value)
        if known is None:
            known = self._numbers[value] = len(self.values)
            self.values.append(value)
        return known


@dataclass(slots=True)
class Scene:
    """A state that is being changed.

    Attributes:
        controller: number of the controller.
        shared: the shared part of the state.
        workers: the workers in order.
    """

    controller: int
    shared: Shared
    workers: list[Worker]

    def reduction(self, close: Close) -> Reduction:
        """Return the reduction of a Close; a new one if no worker has entered it."""
        known = (each for each in self.shared.reductions if each.close == close)
        return next(known, Reduction(close))

    def put(self, reduction: Reduction) -> None:
        """Replace the reduction of the same Close by this one."""
        others = [each for each in self.shared.reductions if each.close != reduction.close]
        found = sorted(
            [*others, reduction], key=lambda each: (each.close.term, each.close.epoch, each.close.version)
        )
        self.shared = self.shared._replace(reductions=tuple(found))

    def join(self, number: int, close: Close, spoilt: bool) -> None:
        """Record that a worker gives its gradient to a reduction."""
        it = self.reduction(close)
        self.put(it._replace(joined=it.joined | 1 << number, spoilt=it.spoilt or spoilt))

    def break_off(self, number: int, close: Close) -> None:
        """Record that a worker leaves a reduction without a result."""
        it = self.reduction(close)
        self.put(it._replace(broke=it.broke | 1 << number))

    def is_hopeless(self, number: int, close: Close) -> bool:
        """Return whether a worker notices that its reduction may not end: another left it, or never comes."""
        it = self.reduction(close)
        return any(other != number and self._is_out(other, it) for other in close.accepted)

    def _is_out(self, number: int, reduction: Reduction) -> bool:
        worker, close = self.workers[number], reduction.close
        if worker.phase in OVER or reduction.broke >> number & 1:
            return True
        if not reduction.joined >> number & 1:
            return close not in worker.inbox
        new = worker.new
        return new is None or (new.term, new.epoch) != (close.term, close.epoch)

    def tidy(self) -> None:
        """Forget reductions that no live worker is in, or can enter."""
        if self.shared.reductions:
            live = [one for one in self.workers if one.phase not in OVER]
            used = tuple(
                each
                for each in self.shared.reductions
                if any(each.close in (one.inside, one.haunts) or each.close in one.inbox for one in live)
            )
            self.shared = self.shared._replace(reductions=used)

    def send(self, said: Said) -> New | None:
        """Put the controller's messages into the inboxes; return the last `New` among them, if any."""
        new = None
        for number, message in said:
            worker = self.workers[number]
            if isinstance(message, New):
                new = message
            if worker.phase not in OVER:
                self.workers[number] = worker._replace(inbox=(*worker.inbox, message))
        return new
