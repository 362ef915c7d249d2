"""Who comes to a run: at its roll call, to a controller that takes another one's place, or back to the others."""

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
    """What Hello leads to.

    Args:
        roll: the roll call.
        places: what every worker does.
        orders: the rounds.
        course: of the run; told why it cannot begin.
        epochs: of it.
        follows_loss: whether the controller before this one had lost all workers that had a state. If the run does not
            resume from checkpoints, somebody must have one, or the run would begin anew without a word.

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
        """A worker has come."""
        if self._course.deserted:
            # This controller is ending, and with it every connection: all say Hello to the next one.
            return []
        has_begun = self._orders.epoch > 0
        absent = {*self._places.lost, *(self._roll.missing if has_begun else ())}
        no_place = self._roll.no_place(hello, self._places.left, absent)
        if no_place is not None:
            # A process that takes the place of one that had done its part, and was killed after that.
            return self._refused(no_place, late=has_begun and hello.worker in self._places.left - absent)
        if hello.worker in absent:
            return self._comes_back(hello, now)
        return self._says_it_again(hello, now) if has_begun else self._is_there(hello, now)

    @property
    def ends(self) -> Seconds | None:
        """The clock's seconds at which the run begins without who is missing; None for never, or too few are there.

        Where the last version is made there is nothing that too few could do.
        """
        return None if self._course.is_thin and not self._roll.has_last else self._roll.ends

    def look(self, now: Seconds) -> Answers:
        """The roll call may have lasted long enough."""
        ends = self.ends
        return [] if ends is None or now < ends else self._begin(now)

    def lose(self, worker: WorkerId) -> None:
        """One that had come to the roll call is gone."""
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
        """The first epoch of this controller, with those who are there."""
        differs = self._roll.difference()
        if differs is not None:
            self._course.fail(differs)
            return []
        newest = self._roll.newest
        if self._follows_loss and not self._course.resumes and newest.epoch == newest.version == 0:
            self._course.fail(NO_STATE)
            return []
        if self._orders.term > 1 and newest.epoch == 0:
            # Nobody is left who was in the run.
            self.resumed_at = newest.version
        with_state = {hello.worker for hello in self._roll.with_state}
        for worker in self._places.there:
            if worker not in with_state:
                self._places[worker].has = NOTHING
        self._orders.epoch = self._roll.epoch
        return self._epochs.begin(newest.version, newest.worker, now)

    def _says_it_again(self, hello: Hello, now: Seconds) -> Answers:
        """The same process, perhaps over a new connection: what it was told last may never have come.

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
            # What it was told last may be lost with its line.
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
        """A worker joins, in a new epoch; whoever reduces completes that first."""
        if self._orders.ended:
            return self._refused(f"Worker {hello.worker} comes too late: the run is over.", late=True)
        self._roll.add(hello, now)
        self._epochs.comes_back(hello, now)
        return self._epochs.answered(hello.worker, now)

    def _refused(self, why: str, late: bool = False) -> Answers:
        return [(SENDER, Refused(self._orders.term, self._orders.epoch, why, late))]
