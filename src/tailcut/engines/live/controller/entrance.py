"""Admission of workers: at the roll call, to a replacement controller, or back to a run under way."""

from __future__ import annotations

from typing import final

from tailcut.engines.live.controller.change import NO_STATE
from tailcut.engines.live.controller.checks import untimely
from tailcut.engines.live.controller.course import Course
from tailcut.engines.live.controller.epochs import Epochs
from tailcut.engines.live.controller.orders import SENDER, Answers, Orders
from tailcut.engines.live.controller.places import NOTHING, Doing, Places
from tailcut.engines.live.controller.roll_call import RollCall
from tailcut.engines.live.messages import Free, Hello, Over, Refused
from tailcut.types import Seconds, WorkerId


@final
class Entrance:
    """Handles the Hello of every worker.

    Args:
        roll: the roll call.
        places: the activity of every worker.
        orders: the rounds.
        course: the course of the run, which is told why it cannot begin.
        epochs: the epochs of the run.
        follows_loss: whether the controller before this one had lost all workers that had a state. Unless the
            run resumes from checkpoints, a worker must then have one, or the run would silently begin anew.

    Attributes:
        resumed_at: the version of the checkpoint that a run returned to, 0 for its beginning; None if it did not.
    """

    def __init__(
        self,
        roll: RollCall,
        places: Places,
        orders: Orders,
        course: Course,
        epochs: Epochs,
        follows_loss: bool,
    ) -> None:
        self._roll, self._places, self._orders = roll, places, orders
        self._course, self._epochs, self._follows_loss = course, epochs, follows_loss
        self.resumed_at: int | None = None

    def hello(self, hello: Hello, now: Seconds) -> Answers:
        """Handle the Hello of a worker."""
        if self._course.deserted:
            # This controller ends, and with it every connection: all say Hello to the replacement controller.
            return []
        has_begun = self._orders.epoch > 0
        absent = {*self._places.lost, *(self._roll.missing if has_begun else ())}
        no_place = self._roll.no_place(hello, self._places.left, absent)
        if no_place is not None:
            # It is late if it takes the place of a process that had left in order, and was killed after that.
            return self._refused(no_place, late=has_begun and hello.worker in self._places.left - absent)
        if hello.worker in absent:
            return self._comes_back(hello, now)
        return self._says_it_again(hello, now) if has_begun else self._is_there(hello, now)

    @property
    def ends(self) -> Seconds | None:
        """The clock's seconds at which the run begins without missing workers; None for never, or too few.

        Once the last version is made their number does not count: nothing is left to train.
        """
        return None if self._course.is_thin and not self._roll.has_last else self._roll.ends

    def look(self, now: Seconds) -> Answers:
        """Begin the run if the roll call has lasted long enough."""
        ends = self.ends
        return [] if ends is None or now < ends else self._begin(now)

    def lose(self, worker: WorkerId) -> None:
        """Forget a worker that was lost during the roll call."""
        self._roll.remove(worker)
        self._places.forget(worker)

    def _is_there(self, hello: Hello, now: Seconds) -> Answers:
        self._roll.add(hello, now)
        self._places.take(hello, now)
        differs = self._roll.other_number(hello)
        if differs is not None:
            self._course.fail(differs)
            return []
        return self._begin(now) if self._roll.complete else []

    def _begin(self, now: Seconds) -> Answers:
        """Begin the first epoch of this controller, with the workers that are there."""
        differs = self._roll.difference()
        if differs is not None:
            self._course.fail(differs)
            return []
        newest = self._roll.newest
        if self._follows_loss and not self._course.resumes and newest.epoch == newest.version == 0:
            self._course.fail(NO_STATE)
            return []
        if self._orders.term > 1 and newest.epoch == 0:
            # No worker is left that was in the run.
            self.resumed_at = newest.version
        with_state = {hello.worker for hello in self._roll.with_state}
        for worker in self._places.there:
            if worker not in with_state:
                self._places[worker].has = NOTHING
        self._orders.epoch = self._roll.epoch
        return self._epochs.begin(newest.version, newest.worker, now)

    def _says_it_again(self, hello: Hello, now: Seconds) -> Answers:
        """Handle another Hello of a process, perhaps over a new connection: the last answer may be lost.

        Nothing of the epoch completes at it any more, as if it had said State. It may have left others in a reduction.
        """
        place, new = self._places[hello.worker], self._epochs.new
        if self._orders.ended and hello.is_behind:
            return self._refused(
                f"Worker {hello.worker} has missed more updates than the others keep, and the run is over: nobody "
                "gives it a copy of the state any more. Raise log_bytes at all workers.",
                late=True,
            )
        if place.doing is Doing.LEFT:
            # The last answer may be lost with its connection.
            return [(hello.worker, Free(self._orders.term, self._orders.epoch))] if place.free else []
        if self._orders.ended:
            return [(hello.worker, Over(self._orders.term, self._orders.epoch, self._course.version))]
        if self._epochs.is_asking:
            self._places.come_back(hello, now)
            return self._epochs.answered(hello.worker, now)
        if hello.epoch == 0:
            return [(hello.worker, new)] if place.is_fresh and new is not None else []
        is_broken = place.doing is Doing.REDUCES
        is_here = (hello.term, hello.epoch) == (self._orders.term, self._orders.epoch)
        if is_here and not hello.is_behind:
            why = untimely(hello, self._course.version)
            if why is not None:
                return self._refused(why)
            is_broken = is_broken and hello.version < place.version
            place.heard = now
            place.broke_off(hello.version)
        else:
            self._places.come_back(hello, now)
        return self._epochs.end(now, is_broken)

    def _comes_back(self, hello: Hello, now: Seconds) -> Answers:
        """Let a worker join in a new epoch; workers in a reduction complete that first."""
        if self._orders.ended:
            return self._refused(f"Worker {hello.worker} comes too late: the run is over.", late=True)
        self._roll.add(hello, now)
        self._epochs.comes_back(hello, now)
        return self._epochs.answered(hello.worker, now)

    def _refused(self, why: str, late: bool = False) -> Answers:
        return [(SENDER, Refused(self._orders.term, self._orders.epoch, why, late))]
