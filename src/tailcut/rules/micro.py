"""A deadline on each worker's own computing: it stops between micro-batches and arrives with what it has."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from tailcut.counts import expected_count, expected_last
from tailcut.errors import ParameterError
from tailcut.order import time_grid
from tailcut.rules.base import Opening, Rule
from tailcut.types import Decision, FloatArray, Forecast, IntArray, Progress, RoundRecord, Seconds, Wait

_CANDIDATES = 200
"""Deadlines that are compared, as many as the authors compare."""


@dataclass(frozen=True, slots=True, eq=False)
class MicroMemory:
    """The recorded rounds from which the deadline is chosen, and the deadline once it is chosen.

    Attributes:
        rounds: for each recorded round, the `(workers,)` run times in seconds.
        overheads: for each recorded round, its overhead in seconds.
        threshold: the deadline, None while it is not chosen.
    """

    rounds: tuple[FloatArray, ...] = ()
    overheads: tuple[Seconds, ...] = ()
    threshold: Seconds | None = None


@final
@dataclass(frozen=True, slots=True)
class MicroDeadline(Rule[MicroMemory, Seconds | None]):
    """DropCompute (Giladi et al., NeurIPS 2023): every worker stops by itself after τ seconds of computing.

    A round's work is `micro` micro-batches per worker. At τ a worker stops and arrives with those that it has
    finished; the round waits for all. What it covers is the arrival's share, its run time is then censored. A
    worker whose first micro-batch takes longer than τ arrives all the same, with share 0: it adds nothing to
    the round's value. The plan is τ, None for no deadline.

    As published, τ is chosen once: after `window` rounds without a deadline, as the one with the largest mean
    effective speed-up on the recorded times, and it stays. With `follow` it is chosen anew for every round from
    the forecast. Only whole rounds' run times are known, so the micro-batches of a worker count as equally long.
    The smaller the overhead, the less a round costs that drops much of its work, and the shorter τ becomes.

    Attributes:
        micro: micro-batches in a round, at least 1.
        threshold: τ in seconds, over 0, if it is known beforehand.
        follow: whether τ follows the forecast.
        window: rounds recorded before τ is chosen, at least 1; not used with `threshold` or `follow`.

    Example:
        >>> from tailcut.types import Roster
        >>> rule = MicroDeadline(micro=4, threshold=1.5)
        >>> rule.worker_deadline(rule.plan(rule.start(), Opening(Roster.of(8), forecast=None)))
        1.5
    """

    micro: int = 8
    threshold: Seconds | None = None
    follow: bool = False
    window: int = 50

    def __post_init__(self) -> None:
        if self.micro < 1:
            raise ParameterError(
                f"micro must be at least 1, but got {self.micro}; give 8 micro-batches, say."
            )
        if self.window < 1:
            raise ParameterError(f"window must be at least 1 round, but got {self.window}; give 50, say.")
        if self.threshold is not None and not 0 < self.threshold < math.inf:
            raise ParameterError(
                f"threshold must be over 0 seconds and finite, but got {self.threshold}; "
                "leave it out to have it chosen."
            )
        if self.threshold is not None and self.follow:
            raise ParameterError(
                f"threshold and follow exclude each other, but got threshold={self.threshold} and follow=True; "
                "leave one of them out."
            )

    def start(self) -> MicroMemory:
        """Return a memory of no rounds, with the deadline if it was given."""
        return MicroMemory(threshold=self.threshold)

    def plan(self, memory: MicroMemory, opening: Opening) -> Seconds | None:
        """Return the round's deadline in seconds; None for no deadline."""
        if not self.follow:
            return memory.threshold
        if opening.forecast is None:
            return None
        return best_deadline(opening.forecast, self.micro, opening.overhead)

    def decide(self, plan: Seconds | None, progress: Progress) -> Decision:
        """Wait for all: each worker stops by itself at its deadline."""
        del plan, progress
        return Wait()

    def learn(self, memory: MicroMemory, plan: Seconds | None, record: RoundRecord) -> MicroMemory:
        """Record the round; choose the deadline at the end of the window."""
        del plan
        seen = record.run_times.seconds[record.run_times.observed]
        if self.follow or memory.threshold is not None or not len(seen):
            return memory
        rounds, overheads = (*memory.rounds, seen), (*memory.overheads, record.overhead)
        if len(rounds) < self.window:
            return MicroMemory(rounds, overheads)
        return MicroMemory(threshold=best_threshold(rounds, overheads, self.micro))

    def worker_deadline(self, plan: Seconds | None) -> Seconds | None:
        """Return the seconds after which each worker stops by itself; None for never."""
        return plan


def best_threshold(rounds: tuple[FloatArray, ...], overheads: tuple[Seconds, ...], micro: int) -> Seconds:
    """Return the deadline with the largest mean effective speed-up on rounds without a deadline.

    Args:
        rounds: `(workers,)` seconds for each round; the number of workers may differ.
        overheads: seconds, one for each round.
        micro: micro-batches per round, taken as equally long.

    Example:
        >>> one_straggler = np.array([1.0, 1.0, 1.0, 9.0])
        >>> 1.0 < best_threshold((one_straggler,), (0.0,), micro=1) < 9.0
        True
    """
    parts = np.arange(1, micro + 1) / micro
    # When each micro-batch of each worker was done, for each round: the paper's A, in increasing order.
    done = [np.sort(np.outer(seconds, parts), axis=None) for seconds in rounds]
    candidates = time_grid(np.concatenate(done), _CANDIDATES)
    kept = np.stack([np.searchsorted(a, candidates) for a in done])
    rounds_speed_up = [_speed_ups(*each) for each in zip(done, kept, overheads, strict=True)]
    return _best(candidates, 1 + np.mean(rounds_speed_up, axis=0), kept.sum(axis=0).astype(np.float64))


def _speed_ups(done: FloatArray, kept: IntArray, overhead: Seconds) -> FloatArray:
    """Return `(candidates,)` the effective speed-up of one round, (1 − drop) / (1 − saved / raw) − 1.

    Args:
        done: `(parts,)` seconds after which each micro-batch was done, increasing.
        kept: `(candidates,)` how many of them each deadline leaves.
        overhead: seconds of the round.
    """
    raw = done[-1] + overhead
    # raw − saved, written without the difference: saved is what lies between the last part kept and the last.
    left = done[np.maximum(kept - 1, 0)] + overhead
    # Where no micro-batch meets the deadline, `kept` is 0 and the speed-up −1.
    gain: FloatArray = (kept / len(done)) / (left / raw) - 1
    return gain


def best_deadline(forecast: Forecast, micro: int, overhead: Seconds) -> Seconds:
    """Return the time of the forecast's grid with the most expected work per second.

    A worker has done m of its M micro-batches by d if its whole run time is at most d·M/m, so the work expected
    by d is Σ_i (1/M) Σ_m F_i(d·M/m), and the round lasts E[min(d, last arrival)] + overhead.
    """
    times = np.concatenate([[0.0], forecast.times])
    count = np.concatenate([[0.0], expected_count(forecast)])
    stretch = micro / np.arange(1, micro + 1)
    work = np.interp(np.outer(forecast.times, stretch), times, count).sum(axis=1)
    return _best(forecast.times, work / (expected_last(forecast) + overhead), work)


def _best(times: FloatArray, gains: FloatArray, work: FloatArray) -> Seconds:
    """Return the time of the largest gain; of equal ones (up to rounding) the first that does the most work.

    Workers of one steady speed do as much per second whatever the deadline: then no work should be dropped
    without need. And no worker should continue when it could not finish another micro-batch.
    """
    nearly = 1 - 1e-9
    best = gains >= gains.max() * nearly
    return float(times[best & (work >= work[best].max() * nearly)][0])
