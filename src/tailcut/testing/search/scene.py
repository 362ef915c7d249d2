"""One state of the world, taken apart: it is changed here, and put together again as a few numbers."""

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
"""Numbers of the controller, of what is shared, and of each worker."""
T = TypeVar("T", bound=Hashable)


class Reduction(NamedTuple):
    """One attempt to make an update.

    Attributes:
        close: what it is for.
        joined: who has given its gradient to it, as bits.
        broke: who has left it without a result, as bits.
        spoilt: whether one of the gradients was not as it was computed.
    """

    close: Close
    joined: int = 0
    broke: int = 0
    spoilt: bool = False

    @property
    def complete(self) -> bool:
        """Whether everything is in it that somebody needs to have the sum."""
        return all(self.joined >> number & 1 for number in self.close.accepted)


class Shared(NamedTuple):
    """What belongs to nobody.

    Attributes:
        left: what may still go wrong.
        reductions: those that somebody is in, or may come to.
        kept: the log up to the version that all had reported, or whose checkpoint was published.
        kept_by: who was there when that was so, and has not been started anew.
        begun: epochs, under all controllers.
        given_up: whom the controller before this one had gone on without.
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
        """Of a value."""
        known = self._numbers.get(value)
        if known is None:
            known = self._numbers[value] = len(self.values)
            self.values.append(value)
        return known


@dataclass(slots=True)
class Scene:
    """A state that is being changed.

    Attributes:
        controller: its number.
        shared: what belongs to nobody.
        workers: one after another.
    """

    controller: int
    shared: Shared
    workers: list[Worker]

    def reduction(self, close: Close) -> Reduction:
        """The one that a Close is for."""
        known = (each for each in self.shared.reductions if each.close == close)
        return next(known, Reduction(close))

    def put(self, reduction: Reduction) -> None:
        """It is like that now."""
        others = [each for each in self.shared.reductions if each.close != reduction.close]
        found = sorted(
            [*others, reduction], key=lambda each: (each.close.term, each.close.epoch, each.close.version)
        )
        self.shared = self.shared._replace(reductions=tuple(found))

    def join(self, number: int, close: Close, spoilt: bool) -> None:
        """A worker gives its gradient to a reduction."""
        it = self.reduction(close)
        self.put(it._replace(joined=it.joined | 1 << number, spoilt=it.spoilt or spoilt))

    def break_off(self, number: int, close: Close) -> None:
        """A worker is out of a reduction, without a result."""
        it = self.reduction(close)
        self.put(it._replace(broke=it.broke | 1 << number))

    def is_hopeless(self, number: int, close: Close) -> bool:
        """Whether a worker in a reduction finds out that it may not end: somebody is out of it, or never comes."""
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
        """Forget reductions that nobody is in, or can come to."""
        if self.shared.reductions:
            live = [one for one in self.workers if one.phase not in OVER]
            used = tuple(
                each
                for each in self.shared.reductions
                if any(each.close in (one.inside, one.haunts) or each.close in one.inbox for one in live)
            )
            self.shared = self.shared._replace(reductions=used)

    def send(self, said: Said) -> New | None:
        """What the controller says is on its way; the last epoch that it tells of."""
        new = None
        for number, message in said:
            worker = self.workers[number]
            if isinstance(message, New):
                new = message
            if worker.phase not in OVER:
                self.workers[number] = worker._replace(inbox=(*worker.inbox, message))
        return new
