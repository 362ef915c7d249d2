"""The search for an update that a worker has missed: whom to ask, what they said, and why nobody has it."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic
from typing import final

from tailcut.engines.live.data.updates import Update
from tailcut.engines.live.messages import NotYet, Pull
from tailcut.errors import TailcutError
from tailcut.types import Seconds


class PullError(TailcutError):
    """No holder gave an update that is needed."""


class TooOldError(PullError):
    """Nobody keeps an update any more that is needed: only a copy of a whole state helps."""


@final
@dataclass(frozen=True, slots=True)
class Wanted:
    """Which updates to fetch, and what they must follow.

    Attributes:
        versions: of the rounds, in order.
        chain: of this worker's log, before the first of them.
        term: of the controller this worker knows.
        epoch: that it is in.
    """

    versions: range
    chain: bytes
    term: int
    epoch: int


@final
@dataclass(frozen=True, slots=True)
class Ahead:
    """Requests under way: to whom, up to which version."""

    holder: int | None = None
    newest: int = -1


@final
@dataclass(slots=True)
class Search:
    """The search for one update.

    Attributes:
        asked: the request.
        chain: that the update must follow.
        until: when the search is given up.
        holders: still worth asking.
        ahead: who has been asked already.
        said: what is wrong with each holder.
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
        """Seconds until it is given up."""
        return self.until - monotonic()

    def drop(self, worker: int, why: str) -> None:
        """Ask this one no more."""
        self.said[worker] = why
        del self.holders[worker]

    def judge(self, worker: int, answer: Update | NotYet | None) -> Update | None:
        """The update, if it is the one that is needed."""
        if isinstance(answer, Update):
            if answer.follows(self.chain):
                return answer
            self.drop(worker, "has another history than this worker")
        elif answer is None:
            self.said.setdefault(worker, "does not answer")
        else:
            has = f"has {answer.oldest} to {answer.newest}" if answer.oldest <= answer.newest else "has none"
            self.said[worker] = has
            if self.asked.version < answer.oldest:
                self.drop(worker, has)
                self.is_past = True
        return None

    def error(self, versions: range) -> PullError:
        """Why it came to nothing, of these that were wanted."""
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
