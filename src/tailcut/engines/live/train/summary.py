"""Computes the figures of an arm from the notes of all workers. Pure, without torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from tailcut.engines.live.train.notes import Notes
from tailcut.types import Seconds

if TYPE_CHECKING:  # Its module needs torch, which the figures do not.
    from tailcut.learning.tasks.base import Target


@final
@dataclass(frozen=True, slots=True)
class Trained:
    """The results of an arm.

    Attributes:
        arm: its name. workers: number of workers.
        updates: number of updates. seconds: seconds that they took.
        gradients: gradients in these updates. begun: mini-batches that workers began.
        idle: seconds that each worker waited for others in its steps.
        to_target: seconds until the target was reached; None if it was not.
        made: `(updates,)` seconds at which each update was made. counts: `(updates,)` gradients in each.
        looks: version, seconds at which it was made, and figures of each evaluation of the net.
    """

    arm: str
    workers: int
    updates: int
    seconds: Seconds
    gradients: int
    begun: int
    idle: tuple[Seconds, ...]
    to_target: Seconds | None
    made: tuple[Seconds, ...]
    counts: tuple[int, ...]
    looks: tuple[tuple[int, Seconds, Mapping[str, float]], ...]

    @property
    def gradients_per_second(self) -> float:
        """The number of gradients per second that were used."""
        return self.gradients / self.seconds if self.seconds > 0.0 else 0.0

    @property
    def accepted_share(self) -> float:
        """The share of begun mini-batches whose gradients are in an update."""
        return self.gradients / self.begun if self.begun else 0.0

    @property
    def idle_share(self) -> float:
        """The share of all workers' seconds that they waited in steps."""
        return sum(self.idle) / (self.workers * self.seconds) if self.seconds > 0.0 else 0.0

    @property
    def cutoff(self) -> float:
        """The mean number of gradients in an update."""
        return self.gradients / self.updates if self.updates else 0.0

    def as_json(self) -> dict[str, Any]:
        """Return the results as plain values, for files and other programs."""
        return {
            "arm": self.arm,
            "workers": self.workers,
            "updates": self.updates,
            "seconds": self.seconds,
            "gradients": self.gradients,
            "begun": self.begun,
            "gradients_per_second": self.gradients_per_second,
            "accepted_share": self.accepted_share,
            "idle_share": self.idle_share,
            "mean_cutoff": self.cutoff,
            "seconds_to_target": self.to_target,
            "idle": list(self.idle),
            "made": list(self.made),
            "counts": list(self.counts),
            "looks": [{"version": v, "seconds": s, **figures} for v, s, figures in self.looks],
        }


def summary(arm: str, notes: Sequence[Notes], goal: Target, in_backward: bool = False) -> Trained:
    """Return the results of an arm.

    Args:
        arm: its name.
        notes: notes of each worker.
        goal: target of the task.
        in_backward: whether workers wait in their backward pass, as DDP's do: waiting is then the time that a
            pass takes beyond the worker's shortest.
    """
    made, counts = _updates(notes)
    looks = tuple(
        (look.version, made[look.version - 1] if look.version else 0.0, look.figures)
        for look in notes[0].looks
        if look.version <= len(made)
    )
    reached = [seconds for _, seconds, figures in looks if goal.reached(figures)]
    return Trained(
        arm=arm,
        workers=len(notes),
        updates=len(made),
        seconds=made[-1] if made else 0.0,
        gradients=sum(counts),
        begun=sum(len(one.steps) for one in notes),
        idle=tuple(_idle(one, in_backward) for one in notes),
        to_target=reached[0] if reached else None,
        made=tuple(made),
        counts=tuple(counts),
        looks=looks,
    )


def _updates(notes: Sequence[Notes]) -> tuple[list[Seconds], list[int]]:
    """Return when each update was first made, and its number of gradients, from its workers' notes."""
    made: dict[int, Seconds] = {}
    counts: dict[int, int] = {}
    # A worker that has copied a state does not know whose gradients are in it.
    for step in (step for one in notes for step in one.steps if step.accepted and step.count):
        made[step.version] = min(step.seconds, made.get(step.version, step.seconds))
        counts[step.version] = step.count
    order = sorted(made)
    return [made[version] for version in order], [counts[version] for version in order]


def _idle(notes: Notes, in_backward: bool) -> Seconds:
    waited = [step.waited for step in notes.steps]
    if not waited:
        return 0.0
    return sum(waited) - (len(waited) * min(waited) if in_backward else 0.0)
