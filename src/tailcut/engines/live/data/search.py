"""The search for a missed update: which holders to ask and when, what they answered, and why none has it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from time import monotonic
from typing import final

from tailcut.engines.live.data.updates import Update
from tailcut.engines.live.messages import NotYet, Pull
from tailcut.errors import TailcutError
from tailcut.types import Seconds


class PullError(TailcutError):
    """No holder gave an update that is needed."""


class TooOldError(PullError):
    """No holder keeps an update that is needed any more: only a copy of a whole state helps."""


@final
@dataclass(frozen=True, slots=True)
class Wanted:
    """The updates to fetch, and the history that they must follow.

    Attributes:
        versions: versions of the rounds, in order.
        chain: chain of this worker's log, before the first of them.
        term: term of the controller this worker knows.
        epoch: epoch that this worker is in.
    """

    versions: range
    chain: bytes
    term: int
    epoch: int


UNREACHED = "cannot be reached"
"""Problem noted for a holder to which there is no connection."""


@final
@dataclass(frozen=True, slots=True)
class Ahead:
    """Requests under way: the holder that was asked, and the newest version asked for."""

    holder: int | None = None
    newest: int = -1


@final
class Hedge:
    """The choice of holders to ask: the likeliest one, and one more whenever all that were asked are quiet.

    A holder that sends data is not quiet, however slow it is. One that is broken or has said no is asked again after a
    pause. One that says nothing at all is asked again after a long time, since the request may be lost.

    Args:
        order: holders, the likeliest first.
        quiet: seconds without any data after which a holder is quiet.
        pause: seconds after which a holder that is broken, or has said no, is asked again.
        again: seconds without any data after which a holder is asked again.

    Example:
        >>> hedge = Hedge([3, 5], quiet=0.1, pause=0.01, again=2.0)
        >>> hedge.next(now=0.0), hedge.next(now=0.09), hedge.next(now=0.1), hedge.next(now=0.3)
        (3, None, 5, None)
        >>> hedge.rests(5, now=0.3)
        >>> hedge.next(now=0.3), hedge.next(now=0.31)
        (None, 5)
    """

    def __init__(self, order: Iterable[int], quiet: Seconds, pause: Seconds, again: Seconds) -> None:
        self._unasked = list(order)
        self._quiet, self._pause, self._again = quiet, pause, again
        # Times of the last sign of those that were asked, and times when resting ones may be asked again.
        self._heard: dict[int, Seconds] = {}
        self._rests: dict[int, Seconds] = {}
        self._sending: set[int] = set()

    @property
    def asked(self) -> list[int]:
        """Return the holders that an answer is expected of."""
        return list(self._heard)

    def next(self, now: Seconds) -> int | None:
        """Return the holder to ask now, which counts as asked; None while an answer may come."""
        if any(now - heard < self._quiet for heard in self._heard.values()):
            return None
        ready = (worker for worker, due in self._rests.items() if now >= due)
        lost = (worker for worker, heard in self._heard.items() if now - heard >= self._again)
        found = next(chain(self._unasked, ready, lost), None)
        if found is not None:
            self.drops(found)
            self._heard[found] = now
        return found

    def receives(self, worker: int, now: Seconds) -> None:
        """Note that data has come from a holder."""
        self._heard[worker] = now
        self._sending.add(worker)

    def is_receiving(self, now: Seconds) -> bool:
        """Return whether an answer is on its way."""
        return any(now - self._heard[worker] < self._quiet for worker in self._sending)

    def rests(self, worker: int, now: Seconds) -> None:
        """Note that a holder cannot be reached, or has said that it does not have the update."""
        self.drops(worker)
        self._rests[worker] = now + self._pause

    def drops(self, worker: int) -> None:
        """Drop a holder that is not worth asking any more."""
        self._sending.discard(worker)
        self._heard.pop(worker, None)
        self._rests.pop(worker, None)
        if worker in self._unasked:
            self._unasked.remove(worker)


@final
@dataclass(slots=True)
class Search:
    """The search for one update.

    Attributes:
        asked: the request.
        chain: chain that the update must follow.
        until: time at which the search is given up, on the monotonic clock.
        holders: addresses of the holders still worth asking, by worker.
        ahead: holder that has been asked already, and is waited for first; None for none.
        said: problem with each holder.
        is_past: whether one of them has dropped the update, as too old.
    """

    asked: Pull
    chain: bytes
    until: Seconds
    holders: dict[int, str]
    ahead: int | None
    said: dict[int, str] = field(default_factory=dict)
    is_past: bool = False

    @property
    def left(self) -> Seconds:
        """Return the seconds until it is given up."""
        return self.until - monotonic()

    def is_reached(self, worker: int, is_asked: bool) -> None:
        """Note whether the request was sent to a holder; its own earlier answers count more."""
        if not is_asked:
            self.said[worker] = UNREACHED
        elif self.said.get(worker, UNREACHED) == UNREACHED:
            self.said[worker] = "does not answer"

    def drop(self, worker: int, why: str) -> None:
        """Ask a holder no more."""
        self.said[worker] = why
        del self.holders[worker]

    @property
    def order(self) -> list[int]:
        """Return the holders, the likeliest first."""
        first = [] if self.ahead not in self.holders else [self.ahead]
        return [*first, *(worker for worker in self.holders if worker != self.ahead)]

    def judge(self, worker: int, answer: Update | NotYet) -> Update | None:
        """Return the update, if it is the one that is needed; otherwise note what is wrong."""
        if isinstance(answer, Update):
            if answer.follows(self.chain):
                return answer
            self.drop(worker, "has another history than this worker")
        else:
            has = f"has {answer.oldest} to {answer.newest}" if answer.oldest <= answer.newest else "has none"
            self.said[worker] = has
            if self.asked.version < answer.oldest:
                self.drop(worker, has)
                self.is_past = True
        return None

    def error(self, versions: range) -> PullError:
        """Return the error that says why the search for these versions has failed."""
        said = "; ".join(f"worker {worker} {why}" for worker, why in self.said.items())
        first, last = self.asked.version, versions[-1]
        which = f"version {first}" if first == last else f"versions {first} to {last}"
        if self.is_past and not self.holders:
            return TooOldError(
                f"The updates of {which} are kept no longer ({said}), so this worker copies the state of another. "
                "Raise log_bytes at all workers, so that more updates are kept."
            )
        return PullError(
            f"The updates of {which} cannot be had ({said or 'there is nobody to ask'}). "
            "Raise log_bytes at all workers, so that more updates are kept, or resume all from a checkpoint."
        )
