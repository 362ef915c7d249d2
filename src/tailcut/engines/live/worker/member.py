"""A worker as a member of a run: it says Hello, hands in gradients, and makes or pulls the updates."""

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
    """One worker as a member of the run.

    Args:
        parts: the objects that it is made of.
        hello: the `Hello` with which it presents itself.
        mesh: makes the process group of an epoch, given this worker's place in it.
        max_wait: seconds to wait for a controller, an update or a copy of the state before giving up.
        total: version at which the run ends; None for none.
        clock: returns seconds, never running backwards.

    Attributes:
        worker: its place, from 0.
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
        # The arrival that this worker waits in step() with; None where it has no gradient that could be used.
        self._brought: tuple[int, float, Seconds, bool, bytes] | None = None
        self._is_rejected = False
        self._meets: dict[int, int] = {}
        self._membership.join()
        self._since = clock()

    @property
    def version(self) -> int:
        """Return the number of updates in the parameters."""
        return self._replica.version

    @property
    def may_stop(self) -> bool:
        """Return whether this worker's gradient is no longer wanted, by the messages so far, without waiting.

        A round can be closed without a worker that is still to finish: its run time is worth more than the
        time saved.
        """
        return any(isinstance(message, Over) or self._drops(message) for message in self._inbox.look())

    @property
    def time_left(self) -> Seconds:
        """Return the seconds left to compute at this version; infinite where there is no limit."""
        for message in self._inbox.look():
            if isinstance(message, Limit):
                self._limit = message
        if self._limit is None or self._limit.version != self.version:
            return math.inf
        return self._since + self._limit.seconds - self._clock()

    def meet(self, every: int, epochs: int = 0) -> None:
        """Ask the controller to let all workers meet at the versions that `every` divides.

        Args:
            every: updates from one meeting to the next.
            epochs: number of epochs of so many updates in the script's loop; 0 where it loops over none.
        """
        self._meets[every] = max(epochs, self._meets.get(every, 0))
        self._ask_to_meet()

    def end_at(self, total: int) -> None:
        """Set the version at which the run ends."""
        self._updating.total = self._replica.total = total

    def arrive(self, samples: int, share: float, finite: bool) -> Outcome:
        """Hand in the gradients that the parameters hold, and return what came of them.

        Args:
            samples: number of samples that they are means over.
            share: part of the mini-batch that these samples are.
            finite: False where the gradients overflowed.
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
        """Wait for the next version without a gradient: this worker was told to drop what it computed."""
        self._brought, self._is_rejected = None, False
        return self._outcome(self._clock())

    def leave(self) -> None:
        """Leave the run. Other workers no longer wait for this one, but may still pull its updates."""
        self._link.send(Bye(*self._membership.here))

    def until_free(self, patience: Seconds, as_it_left: bool) -> bool:
        """Wait, after leaving, until no worker needs this one; return whether the controller said so.

        Args:
            patience: seconds to wait at most.
            as_it_left: whether its state is unchanged since it left: then others can still copy all of it.
        """
        is_free = self._inbox.until_free(patience, self._membership.attend if as_it_left else None)
        if is_free:
            # The controller says so only to a worker that holds nothing which another one lacks.
            self._keeping.confirmed(self.version)
        return is_free

    def _hand_in(self) -> None:
        """Tell the controller of the gradient that this worker has brought, if it has one."""
        if self._brought is not None:
            at("submitting", self.version)
            samples, share, seconds, finite, options = self._brought
            self._link.send(Arrived(*self._membership.here, samples, share, seconds, finite, options))
            at("submitted", self.version)

    def _ask_to_meet(self) -> None:
        """Tell the controller of all meetings, in every epoch: a message of an ended epoch is ignored."""
        for every, epochs in sorted(self._meets.items()):
            self._link.send(Meet(*self._membership.here[:3], every, epochs))

    # -- what the controller says -------------------------------------------------------------------------------

    @property
    def _stand(self) -> tuple[int, int]:
        """Return the number of updates in the parameters, and of those with a gradient of this worker."""
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
                # This may have taken so long that the next round is closed too.
                if isinstance(message, Go) and self.may_stop:
                    continue
                late = message.late if isinstance(message, Go) else 0.0
                return self._told(before, waited, late)

    def _is_given_up(self, message: News) -> bool:
        """Return whether the others went on without this worker, or the controller may no longer know it."""
        if isinstance(message, Again):
            new = self._membership.new
            return (message.term, message.epoch) >= (new.term, new.epoch)
        return isinstance(message, Renewed)

    def _is_mine(self, close: Close) -> bool:
        new = self._membership.new
        is_here = (close.term, close.epoch, close.version) == (new.term, new.epoch, self.version)
        return is_here and self.worker in close.accepted

    def _drops(self, message: News) -> bool:
        """Return whether a message tells this worker to drop what it computes."""
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
        """Enter a new epoch; return whether this worker goes on waiting in it."""
        # The last version may have been lost with the workers that had it: then the run goes on.
        self._closed, self._limit, self.over = {}, None, False
        if self._membership.take_resumed() or self.worker in new.joiners:
            # Its gradient is of no use any more: it copies the others' state, or has that of a checkpoint.
            self._brought, self._updating.last = None, ()
            self._keeping.forget()
        if not self._membership.enter(new):
            return True
        self._ask_to_meet()
        if not self._catch_up(new.base):
            return self._goes_on(self._membership.rejoin())
        if self.version < new.base:
            # The epoch is over already.
            return True
        self._membership.settle()
        self._hand_in()
        return self._brought is not None

    def _take_part(self, close: Close) -> bool:
        """Make an update with the other accepted workers; return whether that succeeded."""
        report = self._updating.make(close)
        if report is None:
            self._membership.stopped()
            return False
        self._brought = None
        self._link.send(report)
        at("reported", self.version)
        return True

    def _catch_up(self, version: int) -> bool:
        """Apply the updates made without this worker; return False where they are no longer kept."""
        before = self.version
        is_kept = self._updating.catch_up(version, self._closed.get(version - 1))
        if self.version > before:
            self._brought = None
        return is_kept

    def _told(self, before: tuple[int, int], waited: Seconds, late: Seconds = 0.0) -> Outcome:
        (old, used_before), (version, used) = before, self._stand
        # A worker that was given up may have made updates that no other one has, and is before them again.
        applied = max(0, version - old)
        if not applied:
            # Nothing came of this worker's pass, so its batch statistics must not either.
            self._flat.restore()
        self._closed = {version: close for version, close in self._closed.items() if version >= self.version}
        self._since = self._clock()
        members = self._updating.last if applied else ()
        # By the log, as all know it: others may have made the update that it was in, and some after that.
        accepted = used > used_before
        return Outcome(version, accepted, members, waited, late, applied, self.over, self._is_rejected)
