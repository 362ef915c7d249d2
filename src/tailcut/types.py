"""Plain frozen records that the stages hand to each other.

    RunTimes ─▶ forecaster ─▶ Forecast ─▶ rule (sees Progress) ─▶ Wait | Close

Times are seconds. Arrays over workers are aligned with the record's own `workers`; nothing is tied to a fixed
number of workers. Censoring is data: a worker that was not waited for has a run time known only to exceed
some value.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Seconds: TypeAlias = float
WorkerId: TypeAlias = int
FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

Weights: TypeAlias = tuple[tuple[str, float], ...]
"""Names of the parts of a blended forecast, and the weight of each."""

NO_NODE = -1
"""Node of a worker whose machine is unknown."""


class Fate(IntEnum):
    """The fate of one gradient."""

    PENDING = 0
    """The gradient is still being computed: its round has closed, but the worker finishes it."""
    USED = 1
    LATE = 2
    """The gradient arrived after the close and was discarded; its run time is known."""
    ABANDONED = 3
    """The worker was told to stop; its run time is censored."""
    LOST = 4
    """The worker left before it arrived."""
    REJECTED = 5
    """The gradient arrived but was not finite."""
    UNSTARTED = 6
    """The gradient was never begun: the worker was still busy with an older round when this one closed."""


@dataclass(frozen=True, slots=True, eq=False)
class Roster:
    """The workers that take part in a round, as known when it opens.

    Attributes:
        workers: `(n,)` ids, increasing.
        nodes: `(n,)` the machine each runs on, `NO_NODE` where unknown.
        busy: `(n,)` seconds each has already spent on an older round when this one opens; NaN where free.
    """

    workers: IntArray
    nodes: IntArray
    busy: FloatArray

    def __len__(self) -> int:
        return len(self.workers)

    @staticmethod
    def of(n: int, nodes: IntArray | None = None) -> Roster:
        """Return the workers `0..n-1`, all free."""
        where = np.full(n, NO_NODE, dtype=np.int64) if nodes is None else nodes
        return Roster(np.arange(n, dtype=np.int64), where, np.full(n, np.nan))


@dataclass(frozen=True, slots=True, eq=False)
class RunTimes:
    """Run times that are learned together: those of one closed round, or late reports of older ones.

    Attributes:
        workers: `(n,)` ids, each at most once.
        seconds: `(n,)` the run time where `observed`, otherwise a value it is known to exceed.
        observed: `(n,)` whether the run time itself was seen.
        nodes: `(n,)` the machine each runs on, `NO_NODE` where unknown.
        late: reports that came after their round had closed; those times were not given before.
    """

    workers: IntArray
    seconds: FloatArray
    observed: BoolArray
    nodes: IntArray
    late: bool = False

    def __len__(self) -> int:
        return len(self.workers)


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """The usual rounds of a cluster some of whose groups are away from their usual factor.

    Attributes:
        prior: `(groups, shifts)` probability of each shift after a round in which all were at home; rows sum to 1.
        at_home: `(groups, shifts)` chance that a group is back home, given its shift.
    """

    prior: FloatArray
    at_home: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class SharedLaws:
    """Laws on cells of equal width in log seconds, which a factor common to a group shifts by whole cells.

    Given the shifts of all groups, workers are independent. Cell k holds `origin`·2^(k / per_octave) up to the next
    such value. Outside the cells laws continue with hazard `TAIL` per cell, see `tailcut.shifts`.

    Attributes:
        law: `(n, cells)` probability of each worker's cell at shift 0, positive everywhere.
        beyond: `(n,)` probability of a run time beyond the last cell, positive; with it rows of `law` sum to 1.
        prior: `(groups, shifts)` probability of each shift −reach..reach; rows sum to 1.
        origin: lower end of cell 0 in seconds.
        per_octave: cells to a factor of two.
        atoms: `(k,)` increasing seconds, the only ones at which workers were seen to arrive; none where run
            times are continuous. Mass between two atoms belongs to the nearer one.
        settled: value of `prior` if all groups had been at home in the last round; None where they were.
    """

    law: FloatArray
    beyond: FloatArray
    prior: FloatArray
    origin: Seconds
    per_octave: int
    atoms: FloatArray
    settled: Settled | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """The joint law of the next run times, as survival curves on a common time grid.

    Workers are independent given their group's scenario, and groups are independent of each other. A group
    is a set of workers with a common fate: a node, or all workers. One group with one scenario is plain
    independence.

    Attributes:
        workers: `(n,)` ids, increasing.
        times: `(times,)` seconds, increasing, > 0. Before `times[0]` survival falls linearly from 1 at 0.
        survival: `(scenarios, n, times)` P(x_i > time | scenario); what is left at the end may never come.
        weights: `(groups, scenarios)` prior odds of each group's scenarios; rows sum to 1.
        groups: `(n,)` the group of each worker, `0..groups-1`.
        order_means: `(n,)` E[x_(c)] for c = 1..n in seconds where the forecaster has its own formula for it.
        fresh: `(scenarios, n, times)` survival of new work alone, where `survival` also holds what busy workers
            have left of old work; None where no worker is busy.
        shared: the joint law where groups share a factor of any size; `survival` then holds each worker's own law,
            averaged over the factors, as one scenario.
    """

    workers: IntArray
    times: FloatArray
    survival: FloatArray
    weights: FloatArray
    groups: IntArray
    order_means: FloatArray | None = None
    fresh: FloatArray | None = None
    shared: SharedLaws | None = None

    def __len__(self) -> int:
        return len(self.workers)

    @staticmethod
    def independent(workers: IntArray, times: FloatArray, survival: FloatArray) -> Forecast:
        """One scenario: `survival` is `(n, times)` or, the same for every worker, `(times,)`."""
        curves = np.broadcast_to(survival, (1, len(workers), len(times)))
        return Forecast(workers, times, curves, np.ones((1, 1)), np.zeros(len(workers), dtype=np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """The progress of an open round, as a rule sees it.

    Attributes:
        elapsed: seconds since the round opened.
        arrivals: `(n,)` seconds from the opening to each worker's arrival, infinite where it is not in.
        gone: `(n,)` workers that left or sit this round out: they will not arrive.
        count: number of gradients that are in.
    """

    elapsed: Seconds
    arrivals: FloatArray
    gone: BoolArray
    count: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Keep the round open; ask again at `count` arrivals or at `until` elapsed seconds, whichever is first.

    With neither, the round waits for all workers that may still arrive.
    """

    count: int | None = None
    until: Seconds | None = None


@dataclass(frozen=True, slots=True)
class Close:
    """Close the round now, with what is in."""


Decision: TypeAlias = Wait | Close


@dataclass(frozen=True, slots=True)
class Measured:
    """Measurements of one update's gradients, of a closed round: no decision depends on its own gradients.

    Attributes:
        loss: mean loss of the accepted samples, at the parameters they were computed for.
        samples: samples in the update, all accepted gradients together.
        batch: samples in one worker's mini-batch.
        big: squared norm of the mean gradient over all samples.
        small: mean squared norm of the mean gradients over `small_samples` samples each; the same as `big`
            with one gradient alone.
        small_samples: samples of each small gradient; may be any number below `samples`.
        rate: learning rate the update was applied with.
    """

    loss: float
    samples: int
    batch: int
    big: float
    small: float
    small_samples: float
    rate: float


@dataclass(frozen=True, slots=True, eq=False)
class RoundRecord:
    """One closed round. Arrays are aligned with `roster.workers`.

    Attributes:
        version: version of the parameters that gradients were computed for.
        opened: the clock's seconds at which it opened.
        elapsed: seconds from opening to close.
        overhead: seconds from the close to the next opening (reduce, apply, broadcast).
        roster: the workers that took part.
        arrivals: `(n,)` seconds from the opening to each worker's first arrival, infinite where it was not in.
        accepted: `(n,)` how many of each worker's gradients were used (0 or 1 where workers count once).
        shares: `(n,)` part of its mini-batch each accepted gradient covers, 1 except under micro-batches.
        fates: `(n,)` a `Fate` each, for the gradient of this version.
        run_times: run times of the round, censored where it was cut; workers that still finish report later.
        staleness: `(accepted gradients,)` rounds between a used gradient's version and this one.
        weights: weight of each part of the forecast, where it was a blend of several.
        measured: measurements of its gradients; None where the engine has made none before the round is
            learned.
    """

    version: int
    opened: Seconds
    elapsed: Seconds
    overhead: Seconds
    roster: Roster
    arrivals: FloatArray
    accepted: IntArray
    shares: FloatArray
    fates: IntArray
    run_times: RunTimes
    staleness: IntArray
    weights: Weights = ()
    measured: Measured | None = None

    @property
    def count(self) -> int:
        """The number of gradients used."""
        return int(self.accepted.sum())

    @property
    def value(self) -> float:
        """Gradients used, partial ones counted by their share."""
        return float((self.accepted * self.shares).sum())
