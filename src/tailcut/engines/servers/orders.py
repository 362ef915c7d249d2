"""The messages between driver, shards and workers. Plain data; gradients and parameters travel beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from tailcut.types import Seconds, WorkerId


@final
@dataclass(frozen=True, slots=True)
class Order:
    """One update, as every shard receives it.

    Attributes:
        id: id of the update; a shard that gets it twice answers twice and applies it once.
        base: version that it follows. An update without gradients changes the version and nothing else.
        rate: learning rate.
        groups: indices of the gradients that are summed together, for each group.
        weights: `(gradients,)` factor of each gradient.
        group_samples: `(groups,)` number of samples behind each group's sum.
        divisor: divides the sum of all groups, which gives the mean gradient.
        scale: factor of the mean gradient, under 1 where it is clipped.
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
    """The answer of a shard to an order.

    Attributes:
        shard: index of the shard.
        version: version that it has now; None where it has no parameters yet.
        refused: why it refused the order; empty where it did not.
        big: squared norm of its piece of the mean gradient, over the numbers used to estimate the noise.
        small: `(groups,)` the same for each group's own mean.
        norm: squared norm of its whole piece of the mean gradient.
        seconds: time that it took.
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
        worker: id of the worker.
        version: version of the parameters that come with it.
        number: number of the mini-batch among the worker's.
        deadline: seconds after which to stop with the micro-batches that are done; None for never.
    """

    worker: WorkerId
    version: int
    number: int
    deadline: Seconds | None = None


@final
@dataclass(frozen=True, slots=True)
class Came:
    """The report of a worker on a finished job; its gradient travels beside it, cut as the shards are.

    Attributes:
        job: the job.
        run_time: seconds from the job's start to its end, by the worker's clock.
        samples: number of samples in the gradient's mean; 0 where the job was dropped.
        share: part of the mini-batch that the gradient covers.
        loss: mean loss over these samples.
        finite: whether all numbers of the gradient are finite.
        size: size of the gradient in bytes.
        process: id of the process that computed it.
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
        """Return whether the job was dropped, so that there is no gradient."""
        return self.samples == 0
