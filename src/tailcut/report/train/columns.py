"""The columns of a table on live training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from tailcut.engines.live.train.summary import Trained
from tailcut.report.formats import UNKNOWN, cutoff, figure, percent
from tailcut.report.train.facts import Training


@final
@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        heading: heading, with line breaks.
        rank: 0 is always shown; in a narrow table the highest ranks are left out first.
        meaning: explanation in one sentence.
        cell: the text for one arm.
    """

    heading: str
    rank: int
    meaning: str
    cell: Callable[[Training, Trained], str]

    @property
    def title(self) -> str:
        """The heading on one line."""
        return self.heading.replace("\n", " ")


def columns(training: Training) -> list[Column]:
    """Return the columns that are of use: those over DDP only if DDP was an arm."""
    return [column for column in COLUMNS if column.title not in _OVER_DDP or training.ddp is not None]


def over_ddp(training: Training, arm: Trained) -> float | None:
    """Return an arm's gradients per second over DDP's; None if unknown."""
    ddp = training.ddp
    return arm.gradients_per_second / ddp.gradients_per_second if ddp and ddp.gradients else None


def sooner(training: Training, arm: Trained) -> float | None:
    """Return DDP's time to target over an arm's; None if unknown."""
    ddp = training.ddp
    if ddp is None or ddp.to_target is None or not arm.to_target:
        return None
    return ddp.to_target / arm.to_target


def times(value: float | None) -> str:
    """Format a ratio."""
    return UNKNOWN if value is None else f"{value:.2f} ×"


COLUMNS = (
    Column("arm", 0, "The policy, or plain DistributedDataParallel.", lambda _, arm: arm.arm),
    Column(
        "gradients\nper second",
        0,
        "Gradients that went into updates, over the seconds of the run; starting up does not count.",
        lambda _, arm: figure(arm.gradients_per_second),
    ),
    Column(
        "over\nddp",
        0,
        "Times DDP's gradients per second.",
        lambda training, arm: times(over_ddp(training, arm)),
    ),
    Column(
        "seconds\nto target",
        0,
        "When the net first was as good as it should be, at a look every few updates.",
        lambda _, arm: figure(arm.to_target),
    ),
    Column(
        "sooner\nthan ddp",
        1,
        "DDP's seconds to the target over this arm's.",
        lambda training, arm: times(sooner(training, arm)),
    ),
    Column(
        "idle\nshare",
        0,
        "Seconds that workers waited for others in their steps, over all their seconds.",
        lambda _, arm: percent(arm.idle_share),
    ),
    Column(
        "accepted\nshare",
        2,
        "Of the mini-batches that workers began, those that went into an update.",
        lambda _, arm: percent(arm.accepted_share),
    ),
    Column("mean\ncutoff", 3, "Gradients in an update.", lambda _, arm: cutoff(arm.cutoff, arm.workers)),
    Column("updates", 4, "That were made.", lambda _, arm: str(arm.updates)),
    Column("seconds", 5, "That they took.", lambda _, arm: figure(arm.seconds)),
)
_OVER_DDP = ("over ddp", "sooner than ddp")
