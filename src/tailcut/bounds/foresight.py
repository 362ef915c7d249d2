"""The clairvoyant, which knows the next run times: the largest Σc / Σtime, by Dinkelbach's method (1967)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailcut.bounds.in_turn import in_turn
from tailcut.bounds.sorted_rounds import SortedRounds
from tailcut.engines.simulated.at_once import closing_at
from tailcut.engines.simulated.run import Run
from tailcut.table import Table
from tailcut.timeline import Timeline
from tailcut.types import FloatArray, IntArray, Seconds

WINDOW = 100
MOST_STEPS = 50


@dataclass(frozen=True, slots=True, eq=False)
class Clairvoyant:
    """A run with foresight. `rushed` is the share of rounds closed with fewer than a quarter of the workers."""

    run: Run
    rushed: float


def clairvoyant(table: Table | Timeline, overhead: Seconds = 0.0, window: int = WINDOW) -> Clairvoyant:
    """Run with c_t = argmax c − λ_t·(x_(c) + o), λ_t the best rate over the last `window` rounds, t included.

    On a timeline those rounds are the ones of this run itself.
    """
    if isinstance(table, Timeline):
        return _by_clock(table, overhead, window)
    rounds = SortedRounds.of(table)
    costs = rounds.arrivals + overhead
    picks = np.zeros(table.rounds, dtype=np.int64)
    price = _best_rate_of(costs[0])
    for t in range(table.rounds):
        recent = costs[max(0, t - window + 1) : t + 1]
        price, chosen = _dinkelbach(recent, price)
        picks[t] = chosen[-1]
    return _finish(table, rounds, picks, overhead)


def _by_clock(timeline: Timeline, overhead: Seconds, window: int) -> Clairvoyant:
    costs = np.empty((timeline.rounds, timeline.workers))
    met, price = 0, 0.0

    def close(one: SortedRounds) -> Seconds:
        nonlocal met, price
        costs[met] = one.arrivals[0] + overhead
        price = price or _best_rate_of(costs[0])
        price, chosen = _dinkelbach(costs[max(0, met - window + 1) : met + 1], price)
        met += 1
        return float(min(one.arrivals[0, chosen[-1]], one.settled[0]))

    run = in_turn(timeline, close, overhead)
    return Clairvoyant(run, float((run.counts < timeline.workers / 4).mean()))


def clairvoyant_whole(table: Table, overhead: Seconds = 0.0) -> Clairvoyant:
    """Run with one λ for the whole source: no run reaches more, but it may close slow rounds very early."""
    rounds = SortedRounds.of(table)
    costs = rounds.arrivals + overhead
    _, picks = _dinkelbach(costs, _best_rate_of(costs[0]))
    return _finish(table, rounds, picks, overhead)


def _best_rate_of(costs: FloatArray) -> float:
    return float((np.arange(1, len(costs) + 1) / costs).max())


def _dinkelbach(costs: FloatArray, price: float) -> tuple[float, IntArray]:
    """Return the largest Σcount/Σcost over `(rounds, cutoffs)` costs, and the cutoff index of each round."""
    counts = np.arange(1.0, costs.shape[1] + 1.0)
    rows = np.arange(len(costs))
    for _ in range(MOST_STEPS):
        picks = np.argmax(counts - price * costs, axis=1)
        rate = float((picks + 1).sum() / costs[rows, picks].sum())
        if abs(rate - price) <= 1e-12 * rate:
            break
        price = rate
    return rate, picks


def _finish(table: Table, rounds: SortedRounds, picks: IntArray, overhead: Seconds) -> Clairvoyant:
    elapsed = np.minimum(rounds.arrivals[np.arange(len(picks)), picks], rounds.settled)
    run = closing_at(table, elapsed, overhead)
    return Clairvoyant(run, float((run.counts < table.workers / 4).mean()))
