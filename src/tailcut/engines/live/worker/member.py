"""This worker in a run: it says Hello, arrives with gradients, reduces with the accepted, and pulls what it missed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import final

from tailcut.engines.live.data.buffer import FlatBuffer
from tailcut.engines.live.data.log import UpdateLog
from tailcut.engines.live.data.pulling import Puller, Wanted
from tailcut.engines.live.data.ring import Group, ReduceError, reduce
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
    Meet,
    New,
    Over,
    State,
    Stop,
)
from tailcut.engines.live.worker.inbox import Inbox, RunError
from tailcut.engines.live.worker.joining import Own, copy_state, state_to_offer
from tailcut.engines.live.worker.link import Link
from tailcut.engines.live.worker.outcome import Outcome
from tailcut.engines.live.worker.replica import Replica
from tailcut.types import Seconds, WorkerId

SILENCE: Seconds = 1.5
"""Of another worker in a reduction, after which that is given up: sooner than the controller expels who is in it."""
COMPARE_EVERY = 100
"""Updates after which those who made one also tell a digest of their parameters."""


@final
@dataclass(frozen=True, slots=True)
class Parts:
    """What a member is made of."""

    link: Link
    replica: Replica
    flat: FlatBuffer
    log: UpdateLog
    puller: Puller
    offer: Callable[[int, list[bytes | memoryview] | None], None] = lambda version, frames: None


class Member:
    """One worker.

    Args:
        parts: its own.
        hello: how it presents itself.
        mesh: makes the process group of an epoch, from its number, this worker's place in it and its size.
        max_wait: seconds without a word from the controller after which to give up.
        total: version at which the run ends; None for none.
        clock: seconds, never running backwards.

    Attributes:
        worker: its place.
        over: whether the run has ended.
    """

    def __init__(
        self,
        parts: Parts,
        hello: Hello,
        mesh: Callable[[int, int, int], Group],
        max_wait: Seconds = 300.0,
        total: int | None = None,
        clock: Callable[[], Seconds] = time.monotonic,
    ) -> None:
        self.worker, self.over = hello.worker, False
        self._link, self._replica, self._flat = parts.link, parts.replica, parts.flat
        self._log, self._puller, self._offer = parts.log, parts.puller, parts.offer
        self._max_wait, self._total, self._clock = max_wait, total, clock
        self._own = Own(parts.replica, parts.flat, parts.log)
        self._inbox = Inbox(parts.link, max_wait, clock)
        self._closed: dict[int, Close] = {}
        self._members: tuple[WorkerId, ...] = ()
        self._limit: Limit | None = None
        self._mesh = mesh
        self._group: Group | None = None
        # What this worker waits in step() with; None where it has nothing that could be used.
        self._brought: tuple[int, float, Seconds, bool] | None = None
        self._link.send(hello)
        self._enter(self._welcome())
        while not self._joined():
            self._enter(self._welcome())
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
        return any(isinstance(message, Over) or self._drops(message) for message in self._inbox.look())

    @property
    def time_left(self) -> Seconds:
        """Seconds that are left to compute at this version; infinite where there is no limit."""
        for message in self._inbox.look():
            if isinstance(message, Limit):
                self._limit = message
        if self._limit is None or self._limit.version != self.version:
            return math.inf
        return self._since + self._limit.seconds - self._clock()

    def meet(self, every: int) -> None:
        """Ask for all workers to meet at versions that this number divides."""
        self._link.send(Meet(self._new.term, self._new.epoch, self.worker, every))

    def arrive(self, samples: int, share: float, finite: bool) -> Outcome:
        """Hand in the gradients that the parameters hold, and take part in what comes of them.

        Args:
            samples: that they are means over.
            share: of the mini-batch that these are.
            finite: False where they overflowed.
        """
        began = self._clock()
        if self.over:
            return self._told(self.version, 0.0, 0.0, accepted=False)
        self._flat.pack(max(samples, 1), share)
        whole = finite and samples > 0 and self._flat.finite()
        self._brought = (samples, share, began - self._since, whole)
        self._link.send(Arrived(*self._here, *self._brought))
        return self._outcome(began)

    def skip(self) -> Outcome:
        """Come without a gradient: this worker was told to drop what it computed."""
        self._brought = None
        return self._outcome(self._clock())

    def leave(self) -> None:
        """Take part no longer. Others are not kept waiting, but may still pull what this worker holds."""
        self._link.send(Bye(*self._here))

    def until_free(self, patience: Seconds) -> None:
        """After leaving: wait until nobody needs anything of this worker, or there is no controller any more."""
        self._inbox.until_free(patience)

    @property
    def _here(self) -> tuple[int, int, int, int]:
        return self._new.term, self._new.epoch, self.worker, self.version

    # -- what the controller says -------------------------------------------------------------------------------

    def _welcome(self) -> New:
        message = self._inbox.next()
        while isinstance(message, Stop | Close | Limit):
            # Of an epoch that this worker never came to take part in.
            message = self._inbox.next()
        if isinstance(message, Over):
            raise RunError(f"The run has ended, at version {message.version}, before this worker could join.")
        if not isinstance(message, New):
            raise RunError(
                f"The controller answered Hello with {type(message).__name__}. Start all workers again."
            )
        return message

    def _outcome(self, began: Seconds) -> Outcome:
        before = self.version
        while True:
            message = self._inbox.next()
            waited = self._clock() - began
            if isinstance(message, Close) and self._is_mine(message):
                if self._take_part(message):
                    return self._told(before, waited, 0.0, accepted=True)
                continue
            if isinstance(message, Stop):
                self._link.send(State(*self._here, self._log.chain))
                continue
            if isinstance(message, New):
                if self._goes_on(message):
                    continue
                in_it = self.version > before and self.worker in self._members
                return self._told(before, waited, 0.0, accepted=in_it)
            self._note(message)
            if isinstance(message, Go | Over):
                self._catch_up(message.version)
                if self.version < message.version:
                    continue
                # It may have taken so long that the next round is closed too.
                if isinstance(message, Go) and self.may_stop:
                    continue
                late = message.late if isinstance(message, Go) else 0.0
                return self._told(before, waited, late, accepted=False)

    def _is_mine(self, close: Close) -> bool:
        return close.version == self.version and self.worker in close.accepted

    def _drops(self, message: FromController) -> bool:
        """Whether it tells this worker to drop what it computes."""
        is_here = isinstance(message, Close) and message.version == self.version
        return is_here and isinstance(message, Close) and self.worker in message.abandon

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

    # -- epochs -------------------------------------------------------------------------------------------------

    def _enter(self, new: New) -> None:
        """Be a member of an epoch. Nothing of the one before it completes from here on."""
        self._new, self._closed, self._limit = new, {}, None
        self._addresses = dict(zip(new.members, new.addresses, strict=True))
        self._group = None
        self._group = self._mesh(new.epoch, new.members.index(self.worker), len(new.members))
        offers = bool(new.joiners) and new.holder == self.worker
        self._offer(new.base, state_to_offer(self._own) if offers else None)

    def _joined(self) -> bool:
        """Copy the state that a worker which joins does not have; False where the epoch was over before."""
        new = self._new
        if self.worker not in new.joiners:
            return True
        address = self._addresses[new.holder]
        if not copy_state(self._own, new, self._puller, address, self._max_wait, self._is_called):
            return False
        self._link.send(Applied(*self._here, self._log.chain))
        return True

    def _goes_on(self, new: New) -> bool:
        """Enter a new epoch; whether this worker goes on waiting in it."""
        self._enter(new)
        if self.worker in new.joiners:
            # What it has copied before nobody knew of, so it may be of no use any more.
            self._brought = None
            return not self._joined()
        self._catch_up(new.base)
        if self.version < new.base:
            # It is over already.
            return True
        if self._brought is None:
            return False
        self._link.send(Arrived(*self._here, *self._brought))
        return True

    # -- updates ------------------------------------------------------------------------------------------------

    def _take_part(self, close: Close) -> bool:
        """Reduce among the accepted, and apply the result; whether it came to that."""
        self._flat.stamp(close)
        reduced = self._flat.empty()
        places = [self._new.members.index(worker) for worker in close.accepted]
        me = self._new.members.index(self.worker)
        try:
            assert self._group is not None
            reduce(self._group, me, places, self._flat.source, reduced, close.version, SILENCE)
        except ReduceError:
            # Whoever else is in it learns of this when the group is gone. The gradient is as it was.
            self._group = None
        if self._group is None:
            self._link.send(State(*self._here, self._log.chain))
            return False
        update = Update.made(close, reduced, self._log.chain)
        scatter = self._flat.scatter_in(reduced, len(close.accepted), update.samples)
        self._apply([update])
        compared = self.version % COMPARE_EVERY == 0 or self.version == self._total
        numbers = self._replica.digest() if compared else b""
        self._link.send(Applied(*self._here, self._log.chain, numbers, scatter))
        self._log.forget(close.needed)
        return True

    def _catch_up(self, version: int) -> None:
        """Apply what was made without this worker."""
        if version <= self.version:
            return
        wanted = Wanted(range(self.version, version), self._log.chain, self._new.term, self._new.epoch)
        # Whoever made the newest update has all before it too.
        newest = self._closed.get(version - 1)
        order = dict.fromkeys([*(newest.accepted if newest else ()), *self._new.members])
        holders = {worker: self._addresses[worker] for worker in order if worker != self.worker}
        self._apply(self._puller.pull(wanted, holders, self._max_wait, self._is_called))
        self._log.forget(newest.needed if newest else 0)

    def _is_called(self) -> bool:
        """Whether the epoch is over: whoever had the newest update may be gone."""
        return any(isinstance(message, New | Stop) for message in self._inbox.look())

    def _apply(self, updates: Iterable[Update]) -> None:
        for update in updates:
            self._flat.unpack(update.flat, update.samples)
            self._replica.apply(update.scale)
            self._log.append(update)
            self._brought = None
            self._members = update.accepted

    def _told(self, before: int, waited: Seconds, late: Seconds, accepted: bool) -> Outcome:
        applied = self.version - before
        if not applied:
            # Nothing came of this worker's pass, so its batch statistics must not either.
            self._flat.restore()
        self._closed = {version: close for version, close in self._closed.items() if version >= self.version}
        self._since = self._clock()
        members = self._members if applied else ()
        return Outcome(self.version, accepted, members, waited, late, applied, self.over)
