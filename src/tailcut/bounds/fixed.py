"""The best fixed cutoff and the best fixed deadline in hindsight, late work abandoned or finished."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tailcut.bounds.sorted_rounds import SortedRounds
from tailcut.engines.simulated.at_once import closing_at
from tailcut.engines.simulated.replay import replay
from tailcut.engines.simulated.run import Run
from tailcut.forecast import NoForecast
from tailcut.policy import Policy
from tailcut.rules import Backup, Deadline
from tailcut.table import Table
from tailcut.types import FloatArray, IntArray, Seconds

CANDIDATES = 64
"""Cutoffs or deadlines tried at a time where trying all would take too long."""
FINE = 512


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """The run of the best setting, and that setting: a count, or seconds."""

    run: Run
    setting: float


def best_static(table: Table, overhead: Seconds = 0.0, late_finish: bool = False, skip: int = 0) -> Fixed:
    """The cutoff with the highest throughput after the first `skip` rounds."""
    if late_finish:
        cutoffs = _spread(1, table.workers)
        best = _refined(lambda c: _finish_rates(table, overhead, skip, cutoffs=c), cutoffs, _spread)
        run = replay(table, Policy(NoForecast(), Backup(c=int(best))), late_finish=True, overhead=overhead)
        return Fixed(run, best)
    rounds = SortedRounds.of(table)
    scored = rounds.after(skip)
    rates = [_rate(*scored.cut_at_count(c), overhead) for c in range(1, table.workers + 1)]
    count = int(np.argmax(rates)) + 1
    counts, elapsed = rounds.cut_at_count(count)
    return Fixed(closing_at(table, elapsed, counts, overhead), float(count))


def best_deadline(table: Table, overhead: Seconds = 0.0, late_finish: bool = False, skip: int = 0) -> Fixed:
    """The number of seconds with the highest throughput after the first `skip` rounds."""
    seen = np.unique(table.seconds[skip:][table.observed[skip:]])
    if late_finish:
        # Workers that start late arrive up to one run time later than the longest.
        coarse = np.quantile(np.concatenate([seen, 2 * seen]), np.linspace(0.0, 1.0, 4 * CANDIDATES))
        seconds = _refined(lambda d: _finish_rates(table, overhead, skip, deadlines=d), coarse, _between)
        rule = Deadline(seconds=float(seconds))
        return Fixed(replay(table, Policy(NoForecast(), rule), late_finish=True, overhead=overhead), seconds)
    rounds = SortedRounds.of(table)
    scored = rounds.after(skip)
    coarse = np.unique(seen[np.linspace(0, len(seen) - 1, FINE).astype(int)])
    top = int(np.argmax([_rate(*scored.cut_at_time(d), overhead) for d in coarse]))
    between = seen[(seen >= coarse[max(top - 1, 0)]) & (seen <= coarse[min(top + 1, len(coarse) - 1)])]
    fine = np.unique(between[np.linspace(0, len(between) - 1, FINE).astype(int)])
    best = float(fine[int(np.argmax([_rate(*scored.cut_at_time(d), overhead) for d in fine]))])
    counts, elapsed = rounds.cut_at_time(best)
    return Fixed(closing_at(table, elapsed, counts, overhead), best)


def _rate(counts: IntArray, elapsed: FloatArray, overhead: Seconds) -> float:
    return float(counts.sum() / (elapsed + overhead).sum())


def _spread(low: float, high: float) -> FloatArray:
    """Whole numbers from low to high."""
    return np.unique(np.linspace(low, high, min(CANDIDATES, int(high - low) + 1)).astype(int)).astype(float)


def _between(low: float, high: float) -> FloatArray:
    """Any numbers from low to high."""
    return np.linspace(low, high, CANDIDATES // 2)


def _refined(
    rates: Callable[[FloatArray], FloatArray],
    candidates: FloatArray,
    finer: Callable[[float, float], FloatArray],
) -> float:
    """The best candidate, then the best of a finer set around it."""
    top = int(np.argmax(rates(candidates)))
    around = finer(candidates[max(top - 1, 0)], candidates[min(top + 1, len(candidates) - 1)])
    return float(around[int(np.argmax(rates(around)))])


def _finish_rates(
    table: Table,
    overhead: Seconds,
    skip: int,
    cutoffs: FloatArray | None = None,
    deadlines: FloatArray | None = None,
) -> FloatArray:
    """`(candidates,)` throughput of fixed settings when late workers finish and start late, all side by side.

    Every candidate has its own clock; only who is free when carries over from round to round.
    """
    settings = cutoffs if cutoffs is not None else deadlines
    assert settings is not None
    size, n = len(settings), table.workers
    free_at, doomed = np.zeros((size, n)), np.zeros((size, n), dtype=np.bool_)
    clock, counted, began = np.zeros(size), np.zeros(size), np.zeros(size)
    rows = np.arange(size)
    for t in range(table.rounds):
        if t == skip:
            began, counted = clock.copy(), np.zeros(size)
        present, comes = ~np.isnan(table.seconds[t]), table.observed[t]
        # Who is absent has left, with whatever it was computing.
        busy = np.where(present, np.maximum(free_at - clock[:, None], 0.0), 0.0)
        # Who is still at work that nobody will get leaves the round with it.
        leaving = doomed & (busy > 0.0)
        ends = np.where(leaving, busy, busy + np.where(present, table.seconds[t], 0.0))
        ordered = np.sort(np.where(comes & ~leaving, ends, np.inf), axis=1)
        available, settled = np.isfinite(ordered).sum(axis=1), ends.max(axis=1)
        if cutoffs is not None:
            close = np.minimum(ordered[rows, cutoffs.astype(int) - 1], settled)
            counted += np.minimum(cutoffs, available)
        else:
            close = np.minimum(np.maximum(settings, ordered[:, 0]), settled)
            in_time = (ordered <= settings[:, None]).sum(axis=1)
            counted += np.maximum(in_time, np.minimum(available, 1))
        end = clock + close
        started = present & ~leaving & (busy <= close[:, None])
        free_at = np.where(started, clock[:, None] + ends, np.where(present, free_at, 0.0))
        doomed = np.where(started, ~comes, doomed & present)
        clock = end + overhead
    out: FloatArray = counted / (clock - began)
    return out
