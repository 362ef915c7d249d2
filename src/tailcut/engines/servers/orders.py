"""What driver, shards and workers say to each other. Plain data; gradients and parameters travel beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from tailcut.types import Seconds, WorkerId


@final
@dataclass(frozen=True, slots=True)
class Order:
    """One update, as every shard is told of it.

    Attributes:
        id: of the update; a shard that gets it twice answers twice and applies it once.
        base: version that it follows. An update of no gradients changes the version and nothing else.
        rate: learning rate.
        groups: places of the gradients that are summed together.
        weights: `(gradients,)` what each is multiplied by.
        group_samples: `(groups,)` that the sums stand for.
        divisor: of the sum of all.
        scale: what the mean is multiplied by, under 1 where it is clipped.
    """

    id: str
    base: int
    rate: float
    groups: tuple[tuple[int, ...], ...]
    weights: tuple[float, ...]
    group_samples: tuple[int, ...]
    divisor: float
    scale: float = 1.0


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """What a shard says to an order.

    Attributes:
        shard: which.
        version: that it has now; None where it has nothing yet.
        refused: why it did not do it; empty where it did.
        big: squared norm of its piece of the mean gradient, of what tells the noise.
        small: `(groups,)` of each group's own mean.
        norm: squared norm of its whole piece of the mean gradient.
        seconds: that it took.
    """

    shard: int
    version: int | None
    refused: str = ""
    big: float = 0.0
    small: tuple[float, ...] = ()
    norm: float = 0.0
    seconds: Seconds = 0.0


@final
@dataclass(frozen=True, slots=True)
class Job:
    """One mini-batch for one worker.

    Attributes:
        worker: who.
        version: of the parameters that come with it.
        number: which of the worker's mini-batches.
        deadline: seconds after which to stop with what there is; None for never.
    """

    worker: WorkerId
    version: int
    number: int
    deadline: Seconds | None = None


@final
@dataclass(frozen=True, slots=True)
class Came:
    """What a worker says when it is done with a job; its gradient travels beside it, cut as the shards are.

    Attributes:
        job: which.
        run_time: its own seconds from the job's beginning to its end.
        samples: that the gradient is the mean of; 0 where the job was abandoned.
        share: of the mini-batch.
        loss: mean over these samples.
        finite: whether all of the gradient is.
        size: bytes of the gradient.
        process: that computed it.
    """

    job: Job
    run_time: Seconds
    samples: int
    share: float = 1.0
    loss: float = 0.0
    finite: bool = True
    size: int = 0
    process: int = 0

    @property
    def was_abandoned(self) -> bool:
        """Whether the worker was told to stop before it had anything."""
        return self.samples == 0
