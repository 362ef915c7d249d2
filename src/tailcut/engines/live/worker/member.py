"""This worker in a run: it says Hello, arrives with gradients, reduces with the accepted, and pulls what it missed."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import final

from tailcut.engines.live.data.buffer import FlatBuffer
from tailcut.engines.live.data.log import UpdateLog
from tailcut.engines.live.data.pulling import Puller, Wanted
from tailcut.engines.live.data.ring import Group, reduce
from tailcut.engines.live.data.updates import Update
from tailcut.engines.live.messages import (
    Applied,
    Arrived,
    Bye,
    Close,
    FromController,
    Go,
    Hello,
    Limit,
    New,
    Over,
    Refused,
)
from tailcut.engines.live.worker.link import Link
from tailcut.engines.live.worker.outcome import Outcome
from tailcut.engines.live.worker.replica import Replica
from tailcut.errors import TailcutError
from tailcut.types import Seconds

LOOK_UP: Seconds = 1.0
"""After which a worker that waits sees whether it has waited too long."""


class RunError(TailcutError):
    """The run cannot go on at this worker; the message says why."""


@final
@dataclass(frozen=True, slots=True)
class Parts:
    """What a member is made of."""

    link: Link
    replica: Replica
    flat: FlatBuffer
    log: UpdateLog
    puller: Puller


class Member:
    """One worker.

    Args:
        parts: its own.
        hello: how it presents itself.
        mesh: makes the process group of an epoch, from this worker's place in it and its size.
        max_wait: seconds without a word from the controller after which to give up.
        clock: seconds, never running backwards.
    """

    def __init__(
        self,
        parts: Parts,
        hello: Hello,
        mesh: Callable[[int, int], Group],
        max_wait: Seconds = 300.0,
        clock: Callable[[], Seconds] = time.monotonic,
    ) -> None:
        self.worker, self.over = hello.worker, False
        self._link, self._replica, self._flat = parts.link, parts.replica, parts.flat
        self._log, self._puller = parts.log, parts.puller
        self._max_wait, self._clock = max_wait, clock
        self._unread: deque[FromController] = deque()
        self._closed: dict[int, Close] = {}
        self._limit: Limit | None = None
        self._link.send(hello)
        self._new = self._welcome()
        self._group = mesh(self._new.members.index(self.worker), len(self._new.members))
        self._addresses = dict(zip(self._new.members, self._new.addresses, strict=True))
        self._since = clock()

    @property
    def version(self) -> int:
        """Updates that the parameters have."""
        return self._replica.version

    @property
    def may_stop(self) -> bool:
        """Whether what this worker computes is no longer wanted. Looks at what came, without waiting.

        A round can be closed without a worker that is still to finish: what is learnt of its run time is worth more.
        """
        self._unread.extend(self._link.waiting())
        for message in self._unread:
            if isinstance(message, Over):
                return True
            if (
                isinstance(message, Close)
                and message.version == self.version
                and self.worker in message.abandon
            ):
                return True
        return False

    @property
    def deadline(self) -> Seconds:
        """Seconds that are left to compute at this version; infinite where there is no limit."""
        if self._limit is None or self._limit.version != self.version:
            return math.inf
        return self._since + self._limit.seconds - self._clock()

    def arrive(self, samples: int, share: float, finite: bool) -> Outcome:
        """Hand in the gradients that the parameters hold, and take part in what comes of them.

        Args:
            samples: that they are means over.
            share: of the mini-batch that these are.
            finite: False where they overflowed.
        """
        began = self._clock()
        self._flat.pack(max(samples, 1))
        whole = finite and samples > 0 and self._flat.finite()
        seconds = began - self._since
        where = (self._new.term, self._new.epoch, self.worker, self.version)
        self._link.send(Arrived(*where, samples, share, seconds, whole))
        return self._outcome(began)

    def skip(self) -> Outcome:
        """Come without a gradient: this worker was told to drop what it computed."""
        return self._outcome(self._clock())

    def leave(self, wait: bool) -> None:
        """No longer take part; others are not kept waiting.

        Args:
            wait: for the others to leave too: at the end of a run.
        """
        self._link.send(Bye(self._new.term, self._new.epoch, self.worker, self.version))
        # Others may still pull what this worker holds; when all have left they are told so, once more.
        heard = 0
        while wait and heard < 2 - self.over:
            heard += isinstance(self._next(), Over)

    # -- what the controller says -------------------------------------------------------------------------------

    def _welcome(self) -> New:
        message = self._next()
        if not isinstance(message, New):
            raise RunError(
                f"The controller answered Hello with {type(message).__name__}. Start all workers again."
            )
        return message

    def _outcome(self, began: Seconds) -> Outcome:
        before = self.version
        while True:
            message = self._next()
            if isinstance(message, Close) and self._is_mine(message):
                waited = self._clock() - began
                self._take_part(message)
                return self._told(message.accepted, waited, before, accepted=True)
            self._note(message)
            if isinstance(message, Go | Over):
                waited = self._clock() - began
                self._catch_up(message.version)
                return self._told((), waited, before, accepted=False)

    def _is_mine(self, close: Close) -> bool:
        return close.version == self.version and self.worker in close.accepted

    def _note(self, message: FromController) -> None:
        match message:
            case Close():
                self._closed[message.version] = message
            case Limit():
                self._limit = message
            case Go(deadline=float(seconds)):
                self._limit = Limit(message.term, message.epoch, message.version, seconds)
            case Over():
                self.over = True

    def _next(self) -> FromController:
        if self._unread:
            return self._unread.popleft()
        until = self._clock() + self._max_wait
        while self._clock() < until:
            message = self._link.next(LOOK_UP)
            if isinstance(message, Refused):
                raise RunError(message.why)
            if message is not None:
                return message
        raise RunError(
            f"The controller at {self._link.address} has said nothing for {self._max_wait:g} s. "
            "See whether it is alive, or raise max_wait."
        )

    # -- updates ------------------------------------------------------------------------------------------------

    def _take_part(self, close: Close) -> None:
        """Reduce among the accepted, and apply the result."""
        self._flat.stamp(close)
        reduced = self._flat.empty()
        places = [self._new.members.index(worker) for worker in close.accepted]
        me = self._new.members.index(self.worker)
        reduce(self._group, me, places, self._flat.source, reduced, close.version)
        self._apply([Update.made(close, reduced, self._log.chain)])
        where = (self._new.term, self._new.epoch, self.worker, self.version)
        self._link.send(Applied(*where, self._log.chain))

    def _catch_up(self, version: int) -> None:
        """Apply what was made without this worker."""
        if version <= self.version:
            return
        wanted = Wanted(range(self.version, version), self._log.chain, self._new.term, self._new.epoch)
        # Whoever made the newest update has all before it too.
        newest = self._closed.get(version - 1)
        order = dict.fromkeys([*(newest.accepted if newest else ()), *self._new.members])
        holders = {worker: self._addresses[worker] for worker in order if worker != self.worker}
        self._apply(self._puller.pull(wanted, holders, self._max_wait))

    def _apply(self, updates: Iterable[Update]) -> None:
        for update in updates:
            self._flat.unpack(update.flat, update.samples)
            self._replica.apply(update.scale)
            self._log.append(update)

    def _told(self, members: tuple[int, ...], waited: Seconds, before: int, accepted: bool) -> Outcome:
        self._closed = {version: close for version, close in self._closed.items() if version >= self.version}
        self._since = self._clock()
        return Outcome(self.version, accepted, members, waited, self.version - before, self.over)
