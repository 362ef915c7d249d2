"""The course of a run: gradients arrive, versions are made and workers leave, until the run is over."""

from __future__ import annotations

from typing import final

from tailcut import events
from tailcut.engines.live.controller.orders import Answers, Orders, lost
from tailcut.engines.live.controller.places import Places
from tailcut.engines.live.messages import Applied, Arrived, Bye, Over, Scatter
from tailcut.types import Seconds


@final
class Course:
    """The progress of a run.

    Args:
        orders: the rounds.
        places: the activity of every worker.
        total: version at which the run ends; None for when all workers have left.
        workers: number of workers that take part.
        min_workers: with fewer workers the run waits for lost ones, and ends if too many have left in order.
        resumes: whether a run without a state returns to the newest checkpoint.

    Attributes:
        version: version of the newest parameters.
        all_left: whether this controller has nothing more to do: all workers have left, or none has a state.
        deserted: whether the last worker with a state was lost before the end of the run, or cut off.
        resumes: as given.
    """

    def __init__(
        self,
        orders: Orders,
        places: Places,
        total: int | None,
        workers: int,
        min_workers: int,
        resumes: bool = False,
    ) -> None:
        self.version, self.all_left, self.deserted = 0, False, False
        self._orders, self._places = orders, places
        self._total, self._workers, self._min, self.resumes = total, workers, min_workers, resumes
        self._why: str | None = None

    @property
    def why(self) -> str | None:
        """Return why the run cannot go on, as a sentence; None as long as it can."""
        return self._why or self._orders.why

    def fail(self, why: str) -> None:
        """Record why the run cannot go on, unless it has failed before."""
        self._why = self._why or why

    @property
    def is_thin(self) -> bool:
        """Return whether too few workers are there, and none was told that the run is over."""
        return len(self._places.there) < self._min and not self._orders.ended

    @property
    def is_last(self) -> bool:
        """Return whether the newest version is the one at which the run ends."""
        return self._total is not None and self.version >= self._total

    @property
    def may_fill(self) -> bool:
        """Return whether there would be enough workers if all came that have not left in order."""
        return self._workers - len(self._places.left - self._places.lost) >= self._min

    @property
    def thinness(self) -> str:
        """A sentence that says how many workers the run waits for, and how many it has."""
        there = len(self._places.there)
        return (
            f"The run waits until {self._min} workers are there (min_workers), and has {there}. "
            "Start those again that have ended."
        )

    def begin(self, base: int, now: Seconds) -> Answers:
        """Begin an epoch of the workers that are there, at a version that one of them has."""
        self.version = base
        nodes = {worker: self._places[worker].hello.node for worker in self._places.there}
        self._orders.enlist(nodes, base, now)
        return self._go_on(now)

    def arrived(self, message: Arrived, now: Seconds) -> Answers:
        """Handle the arrival of a worker with its gradient."""
        return self._orders.arrived(message, now)

    def reported(self, message: Applied) -> bool:
        """Record a worker's report of an update; return whether it is the first of one that was awaited."""
        drift = self._orders.reports.drift(message)
        if drift is not None:
            self.fail(drift)
            return False
        self._places[message.worker].made(message.version)
        if not self._orders.reports.take(message):
            return False
        self._orders.made()
        self.version = message.version
        return True

    def applied(self, message: Applied, now: Seconds) -> Answers:
        """Handle a worker's report of an update: open the next round, unless the run is over."""
        return self._go_on(now, message.scatter) if self.reported(message) else []

    def left(self, message: Bye, now: Seconds) -> Answers:
        """Handle a worker that has left its loop."""
        self._places.leave(message.worker, message.version)
        answers = self._orders.tell(events.Left(now, message.worker))
        never_made = self._orders.reports.leave(message.worker)
        if not self._places.there:
            return self.leave_nobody()
        if never_made is not None:
            self.fail(lost(never_made))
        return [*answers, *self.end()] if self.is_thin else answers

    def end(self) -> Answers:
        """End the run, and tell the workers that are there."""
        self._orders.ended = True
        self._places.send_to(self.version)
        over = Over(self._orders.term, self._orders.epoch, self.version)
        return [(worker, over) for worker in self._places.there]

    def leave_nobody(self, vanished: bool = False) -> Answers:
        """Note that no worker is left, or none with a state; `vanished`: the last was lost, without `Bye`."""
        # If all workers that had the last version were lost before one left with it, that was not the end.
        is_lost = max(self._places.best, self._places.finished) < self.version
        is_over = self._orders.ended and not (self.resumes and is_lost)
        self.deserted |= vanished and not is_over
        self.all_left = self._orders.ended = True
        return []

    def _go_on(self, now: Seconds, scatter: Scatter | None = None) -> Answers:
        """Open the round of new parameters, or end the run with the last version."""
        if self.is_last:
            return self.end()
        measured = self._orders.scale.measured(scatter)
        return self._orders.tell(events.Applied(now, self.version, measured))
