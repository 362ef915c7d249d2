"""From the notes of all workers to the figures of an arm. Pure, without torch."""

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
    """What came of an arm.

    Attributes:
        arm: its name. workers: how many took part.
        updates: made. seconds: that they took.
        gradients: in these updates. begun: mini-batches that workers began.
        idle: seconds that each worker waited for others in its steps.
        to_target: seconds until the goal was reached; None where it was not.
        made: `(updates,)` seconds at which each update was there. counts: gradients in each.
        looks: version, seconds at which it was there, and the figures of each look at the net.
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
        """Of gradients that were used."""
        return self.gradients / self.seconds if self.seconds > 0.0 else 0.0

    @property
    def accepted_share(self) -> float:
        """Of the mini-batches that were begun, those that went into an update."""
        return self.gradients / self.begun if self.begun else 0.0

    @property
    def idle_share(self) -> float:
        """Seconds waited in steps over the seconds of all workers."""
        return sum(self.idle) / (self.workers * self.seconds) if self.seconds > 0.0 else 0.0

    @property
    def cutoff(self) -> float:
        """Gradients in an update, the mean."""
        return self.gradients / self.updates if self.updates else 0.0

    def as_json(self) -> dict[str, Any]:
        """For files and other programs."""
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
    """The figures of an arm.

    Args:
        arm: its name.
        notes: of each worker.
        goal: when it has got where it should.
        in_backward: whether workers wait in their backward pass, as DDP's do: waiting is then what a pass takes
            beyond the worker's shortest.
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
    """When each update was first there, and how many gradients are in it: its makers tell."""
    made: dict[int, Seconds] = {}
    counts: dict[int, int] = {}
    # Who has copied a state does not know who made it.
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
