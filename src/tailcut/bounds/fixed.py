"""The best fixed cutoff and the best fixed deadline in hindsight, late work abandoned or finished.

On a table, where late work is abandoned, no state carries over between rounds, and the choices are evaluated
directly. Otherwise candidates are simulated side by side, each with its own clock, and then finer ones around
the best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tailcut.bounds.in_turn import first_in_turn, in_turn
from tailcut.bounds.sorted_rounds import SortedRounds
from tailcut.engines.simulated.at_once import closing_at
from tailcut.engines.simulated.replay import replay
from tailcut.engines.simulated.run import Run
from tailcut.forecast import NoForecast
from tailcut.policy import Policy
from tailcut.rules import Backup, Deadline
from tailcut.table import Table
from tailcut.timeline import Timeline
from tailcut.types import FloatArray, IntArray, Seconds

CANDIDATES = 64
"""Cutoffs or deadlines tried at a time where trying all would take too long."""
FINE = 512


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """The run of the best setting, and that setting: a number of workers, or seconds."""

    run: Run
    setting: float


def best_static(
    table: Table | Timeline, overhead: Seconds = 0.0, late_finish: bool = False, skip: int = 0
) -> Fixed:
    """Find the cutoff with the highest throughput after the first `skip` rounds."""
    if late_finish or isinstance(table, Timeline):
        cutoffs = _spread(1, table.workers)
        best = _refined(
            lambda c: _rates(side_by_side(table, overhead, late_finish, cutoffs=c), skip),
            cutoffs,
            _spread,
            _last_best,
        )
        if isinstance(table, Timeline) and not late_finish:
            return Fixed(first_in_turn(table, int(best), overhead), best)
        run = replay(table, Policy(NoForecast(), Backup(c=int(best))), late_finish=True, overhead=overhead)
        return Fixed(run, best)
    rounds = SortedRounds.of(table)
    scored = rounds.after(skip)
    rates = np.array([_rate(*scored.cut_at_count(c), overhead) for c in range(1, table.workers + 1)])
    count = _last_best(rates) + 1
    _, elapsed = rounds.cut_at_count(count)
    return Fixed(closing_at(table, elapsed, overhead), float(count))


def best_deadline(
    table: Table | Timeline, overhead: Seconds = 0.0, late_finish: bool = False, skip: int = 0
) -> Fixed:
    """Find the deadline, in seconds, with the highest throughput after the first `skip` rounds."""
    if late_finish or isinstance(table, Timeline):
        seen = _run_times(table, overhead, skip)
        # Workers that start late arrive up to one run time later than the longest.
        possible = np.concatenate([seen, 2 * seen]) if late_finish else seen
        coarse = np.unique(np.quantile(possible, np.linspace(0.0, 1.0, 4 * CANDIDATES), method="nearest"))
        seconds = _refined(
            lambda d: _rates(side_by_side(table, overhead, late_finish, deadlines=d), skip), coarse, _between
        )
        if isinstance(table, Timeline) and not late_finish:
            return Fixed(in_turn(table, lambda one: float(one.cut_at_time(seconds)[1][0]), overhead), seconds)
        rule = Deadline(seconds=float(seconds))
        return Fixed(replay(table, Policy(NoForecast(), rule), late_finish=True, overhead=overhead), seconds)
    seen = _run_times(table, overhead, skip)
    rounds = SortedRounds.of(table)
    scored = rounds.after(skip)
    coarse = np.unique(seen[np.linspace(0, len(seen) - 1, FINE).astype(int)])
    top = int(np.argmax([_rate(*scored.cut_at_time(d), overhead) for d in coarse]))
    between = seen[(seen >= coarse[max(top - 1, 0)]) & (seen <= coarse[min(top + 1, len(coarse) - 1)])]
    fine = np.unique(between[np.linspace(0, len(between) - 1, FINE).astype(int)])
    best = float(fine[int(np.argmax([_rate(*scored.cut_at_time(d), overhead) for d in fine]))])
    _, elapsed = rounds.cut_at_time(best)
    return Fixed(closing_at(table, elapsed, overhead), best)


def _run_times(table: Table | Timeline, overhead: Seconds, skip: int) -> FloatArray:
    """Return `(any,)` distinct run times; on a timeline those of runs that wait for all and for half."""
    if isinstance(table, Table):
        return np.unique(table.seconds[skip:][table.observed[skip:]])
    runs = [first_in_turn(table, count, overhead) for count in (table.workers, max(table.workers // 2, 1))]
    met = [table.met(run.opened) for run in runs]
    return np.unique(np.concatenate([one.seconds[skip:][one.observed[skip:]] for one in met]))


def _rate(counts: IntArray, elapsed: FloatArray, overhead: Seconds) -> float:
    return float(counts.sum() / (elapsed + overhead).sum())


def _spread(low: float, high: float) -> FloatArray:
    """Return at most `CANDIDATES` whole numbers, evenly spaced from low to high."""
    return np.unique(np.linspace(low, high, min(CANDIDATES, int(high - low) + 1)).astype(int)).astype(float)


def _between(low: float, high: float) -> FloatArray:
    """Return `CANDIDATES` // 2 numbers, evenly spaced from low to high."""
    return np.linspace(low, high, CANDIDATES // 2)


def _refined(
    rates: Callable[[FloatArray], FloatArray],
    candidates: FloatArray,
    finer: Callable[[float, float], FloatArray],
    pick: Callable[[FloatArray], int] = lambda found: int(np.argmax(found)),
) -> float:
    """Find the best candidate, and return the best of a finer set around it."""
    top = pick(rates(candidates))
    around = finer(candidates[max(top - 1, 0)], candidates[min(top + 1, len(candidates) - 1)])
    around = np.union1d(around, candidates[top])
    return float(around[pick(rates(around))])


def _last_best(rates: FloatArray) -> int:
    """Return the last place of the highest rate: the largest of several cutoffs with the same closes."""
    return len(rates) - 1 - int(np.argmax(rates[::-1]))


@dataclass(frozen=True, slots=True, eq=False)
class SideBySide:
    """The results of fixed settings, each simulated with its own clock.

    Attributes:
        counts: `(rounds, candidates)` gradients used.
        costs: `(rounds, candidates)` seconds from each opening to the next.
    """

    counts: FloatArray
    costs: FloatArray


def side_by_side(
    table: Table | Timeline,
    overhead: Seconds,
    late_finish: bool,
    cutoffs: FloatArray | None = None,
    deadlines: FloatArray | None = None,
) -> SideBySide:
    """Simulate fixed cutoffs or deadlines; busy workers and the clock carry over from round to round."""
    settings = cutoffs if cutoffs is not None else deadlines
    assert settings is not None
    size, n = len(settings), table.workers
    free_at, doomed = np.zeros((size, n)), np.zeros((size, n), dtype=np.bool_)
    clock = np.zeros(size)
    rows = np.arange(size)
    found = SideBySide(np.zeros((table.rounds, size)), np.zeros((table.rounds, size)))
    for t in range(table.rounds):
        present = table.present(t, clock[:, None])
        # An absent worker has left, and its unfinished work is lost.
        busy = np.where(present, np.maximum(free_at - clock[:, None], 0.0), 0.0)
        seconds, comes = table.begun(t, clock[:, None] + busy)
        comes = comes & present
        # A worker that is busy with work that will never arrive leaves the round when that work ends.
        leaving = doomed & (busy > 0.0)
        # A worker that is absent at the moment it becomes free leaves at that moment.
        ends = np.where(leaving, busy, busy + np.where(present & ~np.isnan(seconds), seconds, 0.0))
        ordered = np.sort(np.where(comes & ~leaving, ends, np.inf), axis=1)
        settled = ends.max(axis=1)
        if cutoffs is not None:
            close = np.minimum(ordered[rows, cutoffs.astype(int) - 1], settled)
            ticks = np.zeros(size, dtype=np.bool_)
        else:
            close = np.minimum(np.maximum(settings, ordered[:, 0]), settled)
            ticks = close == settings
        found.counts[t] = (ordered <= close[:, None]).sum(axis=1)
        if late_finish:
            # A worker free at the very close still begins only if a wake-up closes the round, not an arrival.
            in_time = np.where(ticks[:, None], busy <= close[:, None], busy < close[:, None])
            started = present & ~leaving & in_time
            free_at = np.where(started, clock[:, None] + ends, np.where(present, free_at, 0.0))
            doomed = np.where(started, ~comes, doomed & present)
        end = clock + close + overhead
        found.costs[t] = end - clock
        clock = end
    return found


def _rates(found: SideBySide, skip: int) -> FloatArray:
    """Return `(candidates,)` throughput after the first `skip` rounds."""
    rates: FloatArray = found.counts[skip:].sum(axis=0) / found.costs[skip:].sum(axis=0)
    return rates
