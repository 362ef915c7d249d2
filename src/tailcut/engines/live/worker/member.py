"""This worker in a run: it says Hello, arrives with gradients, reduces with the accepted, and pulls what it missed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from tailcut.engines.live.data.group import Group
from tailcut.engines.live.messages import (
    Again,
    Arrived,
    Bye,
    Close,
    Go,
    Hello,
    Limit,
    Meet,
    New,
    Over,
    Stop,
)
from tailcut.engines.live.points import at
from tailcut.engines.live.worker.inbox import Inbox, News, Renewed
from tailcut.engines.live.worker.joining import Own
from tailcut.engines.live.worker.membership import Membership
from tailcut.engines.live.worker.outcome import Outcome
from tailcut.engines.live.worker.parts import Parts
from tailcut.engines.live.worker.updating import Updating
from tailcut.types import Seconds


class Member:
    """One worker.

    Args:
        parts: its own.
        hello: how it presents itself.
        mesh: makes the group of an epoch, with this worker's place in it.
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
        mesh: Callable[[New, int], Group],
        max_wait: Seconds = 300.0,
        total: int | None = None,
        clock: Callable[[], Seconds] = time.monotonic,
    ) -> None:
        self.worker, self.over = hello.worker, False
        self._link, self._replica, self._flat = parts.link, parts.replica, parts.flat
        self._log, self._keeping, self._clock = parts.log, parts.keeping, clock
        self._inbox = Inbox(parts.link, max_wait, clock)
        own = Own(parts.replica, parts.flat, parts.log)
        self._membership = Membership(
            hello, own, parts.link, self._inbox, parts.puller, mesh, parts.offer, max_wait, parts.keeping
        )
        self._closed: dict[int, Close] = {}
        what = (parts.replica, parts.flat, parts.log, parts.puller, parts.keeping)
        self._updating = Updating(*what, self._membership, max_wait, total)
        self._limit: Limit | None = None
        # What this worker waits in step() with; None where it has nothing that could be used.
        self._brought: tuple[int, float, Seconds, bool, bytes] | None = None
        self._is_rejected = False
        self._meets: dict[int, int] = {}
        self._membership.join()
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

    def meet(self, every: int, epochs: int = 0) -> None:
        """Ask for all workers to meet at versions that this number divides.

        Args:
            every: the number.
            epochs: how many epochs of so many updates there are; 0 where these are none.
        """
        self._meets[every] = max(epochs, self._meets.get(every, 0))
        self._ask_to_meet()

    def end_at(self, total: int) -> None:
        """The run ends at this version."""
        self._updating.total = self._replica.total = total

    def arrive(self, samples: int, share: float, finite: bool) -> Outcome:
        """Hand in the gradients that the parameters hold, and take part in what comes of them.

        Args:
            samples: that they are means over.
            share: of the mini-batch that these are.
            finite: False where they overflowed.
        """
        began, self._is_rejected = self._clock(), False
        if self.over:
            return self._told(self._stand, 0.0)
        self._flat.pack(max(samples, 1), share)
        whole = finite and samples > 0 and self._flat.finite()
        told = self._replica.groups.summarize()
        self._brought, self._is_rejected = (samples, share, began - self._since, whole, told), not whole
        self._hand_in()
        return self._outcome(began)

    def skip(self) -> Outcome:
        """Come without a gradient: this worker was told to drop what it computed."""
        self._brought, self._is_rejected = None, False
        return self._outcome(self._clock())

    def leave(self) -> None:
        """Take part no longer. Others are not kept waiting, but may still pull what this worker holds."""
        self._link.send(Bye(*self._membership.here))

    def until_free(self, patience: Seconds, as_it_left: bool) -> bool:
        """After leaving: wait until nobody needs anything of this worker, or there is no controller any more.

        Whether it was told that nobody does.

        Args:
            patience: seconds to wait at most.
            as_it_left: whether nothing has changed here since: then others can still have all of it.
        """
        is_free = self._inbox.until_free(patience, self._membership.attend if as_it_left else None)
        if is_free:
            # Only who holds nothing that somebody lacks is told so.
            self._keeping.confirmed(self.version)
        return is_free

    def _hand_in(self) -> None:
        """Wait for what becomes of the gradient that this worker has brought."""
        if self._brought is not None:
            at("submitting", self.version)
            samples, share, seconds, finite, options = self._brought
            self._link.send(Arrived(*self._membership.here, samples, share, seconds, finite, options))
            at("submitted", self.version)

    def _ask_to_meet(self) -> None:
        """Every controller must be told, and in every epoch: what was said in one that had ended was not heard."""
        for every, epochs in sorted(self._meets.items()):
            self._link.send(Meet(*self._membership.here[:3], every, epochs))

    # -- what the controller says -------------------------------------------------------------------------------

    @property
    def _stand(self) -> tuple[int, int]:
        """Updates that the parameters have, and how many of them this worker's gradients are in."""
        return self.version, self._log.positions.of(self.worker)

    def _outcome(self, began: Seconds) -> Outcome:
        before = self._stand
        while True:
            message = self._inbox.next()
            waited = self._clock() - began
            if isinstance(message, Close):
                self._keeping.confirmed(message.needed)
                self._membership.confirmed(message)
            if isinstance(message, Close) and self._is_mine(message):
                if self._take_part(message):
                    return self._told(before, waited)
                continue
            if isinstance(message, Stop):
                self._membership.stopped()
                continue
            if self._is_given_up(message):
                message = self._membership.answer()
            if isinstance(message, Go | Over) and not self._catch_up(message.version):
                message = self._membership.rejoin()
            if isinstance(message, New):
                if not self._membership.is_later(message) or self._goes_on(message):
                    continue
                return self._told(before, waited)
            self._note(message)
            if isinstance(message, Go | Over) and self.version >= message.version:
                # It may have taken so long that the next round is closed too.
                if isinstance(message, Go) and self.may_stop:
                    continue
                late = message.late if isinstance(message, Go) else 0.0
                return self._told(before, waited, late)

    def _is_given_up(self, message: News) -> bool:
        """Whether the others have gone on without this worker, or the controller may not know of it any more."""
        if isinstance(message, Again):
            new = self._membership.new
            return (message.term, message.epoch) >= (new.term, new.epoch)
        return isinstance(message, Renewed)

    def _is_mine(self, close: Close) -> bool:
        new = self._membership.new
        is_here = (close.term, close.epoch, close.version) == (new.term, new.epoch, self.version)
        return is_here and self.worker in close.accepted

    def _drops(self, message: News) -> bool:
        """Whether it tells this worker to drop what it computes."""
        is_here = isinstance(message, Close) and message.version == self.version
        return is_here and isinstance(message, Close) and self.worker in message.abandon

    def _note(self, message: News) -> None:
        match message:
            case Close():
                self._closed[message.version] = message
            case Limit():
                self._limit = message
            case Go(deadline=float(seconds)):
                self._limit = Limit(message.term, message.epoch, message.version, seconds)
            case Over():
                self.over = True

    def _goes_on(self, new: New) -> bool:
        """Enter a new epoch; whether this worker goes on waiting in it."""
        # The last version may have been lost with whoever had it: then the run goes on.
        self._closed, self._limit, self.over = {}, None, False
        if self._membership.take_resumed() or self.worker in new.joiners:
            # What it has is of no use any more: it gets the state of the others, or has that of a checkpoint.
            self._brought, self._updating.last = None, ()
            self._keeping.forget()
        if not self._membership.enter(new):
            return True
        self._ask_to_meet()
        if not self._catch_up(new.base):
            return self._goes_on(self._membership.rejoin())
        if self.version < new.base:
            # It is over already.
            return True
        self._membership.settle()
        self._hand_in()
        return self._brought is not None

    def _take_part(self, close: Close) -> bool:
        """Make an update with the other accepted; whether it came to that."""
        report = self._updating.make(close)
        if report is None:
            self._membership.stopped()
            return False
        self._brought = None
        self._link.send(report)
        at("reported", self.version)
        return True

    def _catch_up(self, version: int) -> bool:
        """Apply what was made without this worker; False where that is kept no longer."""
        before = self.version
        is_kept = self._updating.catch_up(version, self._closed.get(version - 1))
        if self.version > before:
            self._brought = None
        return is_kept

    def _told(self, before: tuple[int, int], waited: Seconds, late: Seconds = 0.0) -> Outcome:
        (old, used_before), (version, used) = before, self._stand
        # Who was given up may have made updates that nobody else has, and is before them again.
        applied = max(0, version - old)
        if not applied:
            # Nothing came of this worker's pass, so its batch statistics must not either.
            self._flat.restore()
        self._closed = {version: close for version, close in self._closed.items() if version >= self.version}
        self._since = self._clock()
        members = self._updating.last if applied else ()
        # By what all know of it: others may have made the update that it was in, and some after that.
        accepted = used > used_before
        return Outcome(version, accepted, members, waited, late, applied, self.over, self._is_rejected)
