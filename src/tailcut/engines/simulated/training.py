"""Training in virtual time: updates from the simulated engine, real gradients from a trainer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from tailcut.engines.simulated.meter import Meter, Point, Totals
from tailcut.engines.simulated.updates import Updates
from tailcut.learning.saving import Arrays, arrays_of, restore
from tailcut.learning.tasks.base import Target
from tailcut.learning.trainer import Trainer, diverged
from tailcut.types import Measured, Seconds
from tailcut.work import Update

Ending = Literal["reached", "not reached", "diverged"]


@dataclass(frozen=True, slots=True)
class Look:
    """The schedule of evaluations, and the conditions to stop.

    Attributes:
        target: target at which the run stops; None trains to the end.
        every: accepted gradients from one evaluation to the next.
        seconds: virtual time after which to stop.
        updates: number of updates after which to stop; None for no limit.
        beyond: whether to continue after the target was reached, for whole curves.
    """

    target: Target | None
    every: float
    seconds: Seconds = float("inf")
    updates: int | None = None
    beyond: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """The result of a training.

    Attributes:
        ending: whether the target was reached.
        seconds_to_target: virtual time at which the target was reached; infinite where it was not.
        updates_to_target: number of updates until then; None where the target was not reached.
        points: one for each evaluation.
        totals: totals of the whole run.
    """

    ending: Ending
    seconds_to_target: Seconds
    updates_to_target: int | None
    points: tuple[Point, ...]
    totals: Totals


@dataclass(frozen=True, slots=True, eq=False)
class Saved:
    """The state of a training, to resume from.

    Attributes:
        arrays: the arrays of the trainer.
        measured: what the gradients of every update so far showed.
        points: the evaluations so far.
    """

    arrays: Arrays
    measured: tuple[Measured, ...]
    points: tuple[Point, ...]


def recorded(updates: Iterable[Update]) -> Updates:
    """Yield updates that were simulated before, for policies that do not look at gradients."""
    for update in updates:
        # Not `yield from`: it would pass on to the iterator what is sent to this stream.
        _ = yield update


def train(
    stream: Updates,
    trainer: Trainer,
    meter: Meter,
    look: Look,
    *,
    saved: Saved | None = None,
    save: Callable[[Saved], None] | None = None,
    save_every: int = 100,
    watch: Callable[[Point], None] = lambda _: None,
) -> Trained:
    """Train until the target, the end of the stream, or the budget.

    Args:
        stream: the updates; what their gradients showed is sent to it.
        trainer: a fresh trainer; with `saved`, it is restored to that state.
        meter: a fresh meter.
        look: when to evaluate and to stop.
        saved: state of an earlier run of the same stream, trainer and look, from which this one resumes bit
            for bit.
        save: called with the state every `save_every` updates.
        save_every: updates between two calls of `save`.
        watch: called with every point.
    """
    training = _Training(trainer, meter, look, save, save_every, watch)
    try:
        update = next(stream)
        if saved is not None:
            update = training.followed(stream, update, saved)
        while True:
            measured = training.step(update)
            if training.over():
                break
            update = stream.send(measured)
    except StopIteration:
        pass
    finally:
        stream.close()
    return training.result()


class _Training:
    """One run, update by update."""

    def __init__(
        self,
        trainer: Trainer,
        meter: Meter,
        look: Look,
        save: Callable[[Saved], None] | None,
        save_every: int,
        watch: Callable[[Point], None],
    ) -> None:
        self._trainer, self._meter, self._look = trainer, meter, look
        self._save, self._save_every, self._watch = save, save_every, watch
        self._points: list[Point] = []
        self._measured: list[Measured] = []
        self._next = look.every
        self._reached: Point | None = None
        self._diverged = False

    def followed(self, stream: Updates, update: Update, saved: Saved) -> Update:
        """Follow the updates that were applied before; return the first that was not."""
        try:
            for measured in saved.measured:
                self._trainer.follow(update)
                self._meter.add(update, measured)
                if self._due():
                    # The figures of then are in `saved.points`; the means must begin anew all the same.
                    self._meter.point({}, None)
                update = stream.send(measured)
        finally:
            # In `finally`, because the stream may end with the last of these updates.
            self._measured = list(saved.measured)
            restore(self._trainer, saved.arrays, saved.measured)
            for point in saved.points:
                self._keep(point)
        return update

    def step(self, update: Update) -> Measured:
        """Apply one update, and evaluate the net where that is due."""
        measured = self._trainer.update(update)
        self._meter.add(update, measured)
        self._measured.append(measured)
        self._diverged = diverged(measured)
        if self._due() and not self._diverged:
            self._look_at_net()
        if self._save is not None and len(self._measured) % self._save_every == 0:
            self._save(Saved(arrays_of(self._trainer), tuple(self._measured), tuple(self._points)))
        return measured

    def _look_at_net(self) -> None:
        figures = self._trainer.figures()
        # Finite gradients can lead to parameters whose figures are not finite.
        self._diverged = not all(math.isfinite(figure) for figure in figures.values())
        if not self._diverged:
            self._keep(self._meter.point(figures, self._trainer.noise.scale))
            self._watch(self._points[-1])

    def over(self) -> bool:
        """Return whether the run has reached its target, diverged, or used up its budget."""
        look = self._look
        arrived = self._reached is not None and not look.beyond
        spent = self._meter.seconds >= look.seconds or len(self._measured) == look.updates
        return self._diverged or arrived or spent

    def result(self) -> Trained:
        """Return the result of the training."""
        reached = self._reached
        ending: Ending = "reached" if reached else "diverged" if self._diverged else "not reached"
        return Trained(
            ending=ending,
            seconds_to_target=float("inf") if reached is None else reached.seconds,
            updates_to_target=None if reached is None else reached.updates,
            points=tuple(self._points),
            totals=self._meter.totals(),
        )

    def _due(self) -> bool:
        if self._meter.gradients < self._next:
            return False
        self._next = self._meter.gradients + self._look.every
        return True

    def _keep(self, point: Point) -> None:
        self._points.append(point)
        target = self._look.target
        if self._reached is None and target is not None and target.reached(point.figures):
            self._reached = point
