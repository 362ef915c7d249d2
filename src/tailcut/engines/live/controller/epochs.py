"""Epochs: the workers that take part, the version they start from, and the messages between two epochs."""

from __future__ import annotations

from typing import final

from tailcut.engines.live.controller.change import NO_STATE, Change
from tailcut.engines.live.controller.checks import untimely
from tailcut.engines.live.controller.course import Course
from tailcut.engines.live.controller.orders import Answers, Orders
from tailcut.engines.live.controller.places import NOTHING, Place, Places
from tailcut.engines.live.controller.suspicion import Suspicion
from tailcut.engines.live.messages import Again, Applied, Arrived, Bye, Hello, New, State, Stop
from tailcut.types import Seconds, WorkerId


@final
class Epochs:
    """The current epoch, or the change to the next one.

    Args:
        places: the activity of every worker.
        orders: the rounds; they begin anew in every epoch.
        course: the course of the run.

    Attributes:
        new: message that began the last epoch; None before the first.
    """

    def __init__(self, places: Places, orders: Orders, course: Course) -> None:
        self.new: New | None = None
        self._places, self._orders, self._course = places, orders, course
        self._suspicion = Suspicion()
        self._change = Change(places, self._suspicion)
        self._asked: set[WorkerId] | None = None
        self._ends: Seconds | None = None
        self._since = (0, 0)

    @property
    def is_over(self) -> bool:
        """Return whether the last epoch is over and the next has not begun."""
        return self._change.under_way

    @property
    def wake_at(self) -> Seconds | None:
        """The clock's seconds at which to call `look` when an epoch is over; None for never."""
        return self._change.until

    def begin(self, base: int, holder: WorkerId, now: Seconds) -> Answers:
        """Begin an epoch of the workers that are there, from a version that one of them has."""
        self._orders.renew(base)
        self._asked, self._ends = None, None
        if self.new is None:
            first = self._places[holder].hello
            self._since = (
                (first.term, first.epoch) if first.epoch else (self._orders.term, self._orders.epoch)
            )
        hellos = [self._places[worker].hello for worker in self._places.there]
        members, addresses = zip(*((hello.worker, hello.address) for hello in hellos), strict=True)
        where = (self._orders.term, self._orders.epoch)
        joiners = tuple(self._places.joining)
        self._suspicion.relax(base)
        is_local = bool(hellos[0].local) and len({hello.local for hello in hellos}) == 1
        silence = self._suspicion.silence
        self.new = New(*where, members, addresses, base, holder, joiners, silence, is_local)
        return [*((worker, self.new) for worker in members), *self._course.begin(base, now)]

    def end(self, now: Seconds, is_broken: bool) -> Answers:
        """End the epoch: find out which workers continue, and from which version.

        Args:
            now: the clock's seconds.
            is_broken: whether a reduction cannot end.
        """
        self._change.begin(now, is_broken)
        return self.look(now)

    def hear(self, message: Arrived | Applied | State | Bye, now: Seconds) -> Answers:
        """Handle a message that came when an epoch is over and the next has not begun."""
        if isinstance(message, Applied):
            self._course.reported(message)
        self._change.hear(message, now)
        return self.look(now)

    def look(self, now: Seconds) -> Answers:
        """Begin the next epoch as soon as its workers and version are known."""
        term, epoch = self._orders.term, self._orders.epoch
        found = self._change.settled(self._course.version, now)
        if found is None:
            stop = Stop(term, epoch)
            return [(worker, stop) for worker in self._change.to_ask(self._course.version)]
        for worker in found.expelled:
            self._suspicion.expel(worker, now)
        if self._change.is_broken and self._all_have_answered:
            self._suspicion.raise_limits(found.base)
        answers: Answers = [(worker, Again(term, epoch)) for worker in found.expelled]
        if found.holder is None:
            return [*answers, *self._course.leave_nobody()]
        if found.base == NOTHING and self._course.resumes:
            # As if all workers were lost: the replacement controller asks them, and nothing is decided twice.
            return [*answers, *self._course.leave_nobody(vanished=True)]
        if found.base == NOTHING:
            return [*answers, *self._without_state(now)]
        if self._course.is_last and found.base < self._course.version <= self._places.best:
            # A worker that has left still has the last version, and gives it to the others.
            return [*answers, *self._course.end()]
        if self._course.is_thin and self._course.may_fill:
            # Still between two epochs: the next Hello leads here again.
            self._change.begin(now, is_broken=False)
            return answers
        if self._course.is_thin:
            self._course.version = found.base
            return [*answers, *self._course.end()]
        return [*answers, *self.begin(found.base, found.holder, now)]

    @property
    def is_asking(self) -> bool:
        """Return whether all workers were asked for another Hello, because none was known to have a state."""
        return self._asked is not None

    def comes_back(self, hello: Hello, now: Seconds) -> None:
        """Record the return of a worker; if it had only been slow, raise the limits on silence."""
        known = self._places.get(hello.worker)
        is_same = known is not None and known.hello.process == hello.process
        if self._suspicion.is_back_soon(hello.worker, now) and is_same:
            self._suspicion.raise_limits(self._course.version)
        self._places.come_back(hello, now)

    def answered(self, worker: WorkerId, now: Seconds) -> Answers:
        """Continue with the change after a Hello, which the worker's place already has."""
        if self._asked is not None:
            self._asked.discard(worker)
        return self.end(now, is_broken=False)

    @property
    def _all_have_answered(self) -> bool:
        """Return whether all members of the ended epoch still have a state: none was lost or expelled."""
        members = () if self.new is None else self.new.members
        return all(one in self._places.there and self._places[one].has > NOTHING for one in members)

    def _without_state(self, now: Seconds) -> Answers:
        """Ask all workers for another Hello when none is known to have a state, before the run fails.

        A joiner may have copied the state by now, and a worker that was cut off for a moment has it still.
        They are asked in an epoch that no worker was ever in, so that none takes the message for an old one.
        """
        self._change.begin(now, is_broken=False)
        if self._asked is None:
            self._orders.epoch += 1
            self._asked = set(self._places.there)
            again = Again(self._orders.term, self._orders.epoch)
            return [(worker, again) for worker in self._places.there]
        if not self._asked.isdisjoint(self._places.there):
            return []
        there = [self._places[worker] for worker in self._places.there]
        holders = [place for place in there if self._was_in(place)]
        for place in holders:
            place.broke_off(place.hello.version)
        if holders:
            return self.look(now)
        # A lost worker may be back in a moment, if only its connection broke.
        self._ends = self._change.until = now + self._suspicion.patience if self._ends is None else self._ends
        if now >= self._ends:
            self._course.fail(NO_STATE)
        return []

    def _was_in(self, place: Place) -> bool:
        """Return whether a worker may continue: it was in the last epoch in which an update could be made."""
        hello, since = place.hello, max(self._since, self._orders.closed_in)
        is_possible = untimely(hello, self._course.version) is None
        # An older net must not replace the newer one of workers that have left.
        is_possible &= not hello.is_behind or self._places.best <= hello.version
        return hello.epoch > 0 and (hello.term, hello.epoch) >= since and is_possible
