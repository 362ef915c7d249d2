"""Run times that depend on when work begins: the state of the machines moves by the clock, not by rounds."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tailcut.table import Table
from tailcut.types import BoolArray, FloatArray, IntArray, Seconds, WorkerId


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """The noise of each round, and a path of states that all policies meet at the same seconds of the clock.

    Slot k of the path lasts from `k·step` to `(k + 1)·step` seconds; the last slot never ends. Work of so
    many `noise` seconds is done at the speed 1 / `scale` of each slot. So work that begins earlier never ends
    later, except by the tick of a coarse clock or where a worker leaves: a policy gains nothing by dropping
    slow work and beginning anew. A worker whose slot is NaN is away; one that is at work when such a slot
    begins is lost at that moment with what it computed.

    Attributes:
        noise: `(rounds, workers)` seconds in the usual state; row t belongs to round t.
        scale: `(slots, workers)` how many times slower than usual, NaN where the worker is away.
        step: seconds of a slot.
        nodes: `(workers,)` the machine each runs on, `NO_NODE` where unknown.
        source: cluster it came from, for messages.
        tick: seconds that run times are rounded up to multiples of; 0 for exact clocks.
        switches: `(slot, noise)` of laws that hold for work begun from that slot on, by rising slots.

    Example:
        >>> path = np.array([[1.0], [4.0]])
        >>> timeline = Timeline(np.full((3, 1), 2.0), path, 10.0, np.array([-1]), "a worker that becomes slow")
        >>> [timeline.at(0, now)[0].tolist() for now in (0.0, 9.0, 10.0)]
        [[2.0], [5.0], [8.0]]
    """

    noise: FloatArray
    scale: FloatArray
    step: Seconds
    nodes: IntArray
    source: str
    tick: Seconds = 0.0
    switches: tuple[tuple[int, FloatArray], ...] = ()
    _until: IntArray = field(init=False, repr=False)
    """`(slots, workers)` first later slot with another state of the worker; `slots` where there is none."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_until", _next_changes(self.scale))

    @property
    def rounds(self) -> int:
        """The largest number of rounds."""
        return int(self.noise.shape[0])

    @property
    def workers(self) -> int:
        """The number of workers that ever take part."""
        return int(self.noise.shape[1])

    @property
    def whole(self) -> bool:
        """Return whether every worker is present in every slot."""
        return not bool(np.isnan(self.scale).any())

    def present(self, row: int, now: FloatArray) -> BoolArray:
        """Return `(…, workers)` whether each takes part in a round that opens at `now`, `(…, 1)` seconds."""
        del row
        there: BoolArray = ~np.isnan(self.scale[self._slot(now), np.arange(self.workers)])
        return there

    def at(self, row: int, now: Seconds) -> tuple[FloatArray, BoolArray]:
        """Return `(workers,)` run times of work of round `row` begun at `now`, NaN where away, and whether it ends."""
        return self.begun(row, np.full(self.workers, now))

    def run_time(self, row: int, worker: WorkerId, now: Seconds) -> tuple[Seconds, bool]:
        """Return the same as `at` for one worker."""
        seconds, observed = self._spans(row, np.array([now]), np.array([worker]))
        return float(seconds[0]), bool(observed[0])

    def begun(self, row: int, starts: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Return `(…, workers)` run times of work of round `row` that begins at `starts`, and whether it ends."""
        workers = np.broadcast_to(np.arange(self.workers), starts.shape)
        seconds, observed = self._spans(row, starts.ravel(), workers.ravel())
        return seconds.reshape(starts.shape), observed.reshape(starts.shape)

    def ends_absent(self, worker: WorkerId) -> bool:
        """Return False: no worker leaves after the last row, since the path continues."""
        del worker
        return False

    def met(self, opened: FloatArray) -> Table:
        """Return the table of a run whose round t opened at `opened[t]`: how long work begun then would take."""
        rows = [self.at(row, now) for row, now in enumerate(opened.tolist())]
        seconds = np.array([row for row, _ in rows]).reshape(len(opened), self.workers)
        observed = np.array([seen for _, seen in rows], dtype=np.bool_).reshape(seconds.shape)
        return Table(seconds, observed, tuple(range(self.workers)), self.nodes, self.source)

    def _slot(self, now: FloatArray) -> IntArray:
        slot = (now / self.step).astype(np.int64)
        # The quotient may be rounded down across the boundary.
        slot += (slot + 1) * self.step <= now
        last: IntArray = np.minimum(slot, len(self.scale) - 1)
        return last

    def _noise(self, row: int, slot: IntArray, worker: IntArray) -> FloatArray:
        noise = self.noise[row, worker]
        for begins, later in self.switches:
            noise = np.where(slot >= begins, later[row, worker], noise)
        found: FloatArray = noise
        return found

    def _spans(self, row: int, starts: FloatArray, workers: IntArray) -> tuple[FloatArray, BoolArray]:
        """Return `(k,)` run times and whether they end, of workers that begin at moments of their own."""
        slots = len(self.scale)
        slot = self._slot(starts)
        left = self._noise(row, slot, workers)
        spans = np.where(np.isnan(self.scale[slot, workers]), np.nan, 0.0)
        ends = ~np.isnan(spans)
        # Positions of the workers still at work; they become fewer from one change of state to the next.
        busy = np.flatnonzero(ends)
        while len(busy):
            k, who = slot[busy], workers[busy]
            scale, until = self.scale[k, who], self._until[k, who]
            needed = left[busy] * scale
            room = np.where(until < slots, until * self.step - (starts[busy] + spans[busy]), np.inf)
            is_lost = np.isnan(scale)
            ends[busy[is_lost]] = False
            is_done = ~is_lost & (needed <= room)
            spans[busy[is_done]] += needed[is_done]
            goes_on = ~is_lost & ~is_done
            busy, room, until = busy[goes_on], np.maximum(room[goes_on], 0.0), until[goes_on]
            left[busy] -= room / scale[goes_on]
            spans[busy] += room
            slot[busy] = until
        if self.tick > 0:
            shown = rounded_up(spans, self.tick)
            spans = np.where(ends, shown, spans)
        return spans, ends


def rounded_up(seconds: FloatArray, tick: Seconds) -> FloatArray:
    """Return seconds rounded up to multiples of `tick`, at least one; `tick` 0 changes nothing."""
    if tick == 0:
        return seconds
    shown: FloatArray = np.maximum(np.ceil(seconds / tick), 1.0) * tick
    return shown


def _next_changes(scale: FloatArray) -> IntArray:
    slots = len(scale)
    same = (scale[1:] == scale[:-1]) | (np.isnan(scale[1:]) & np.isnan(scale[:-1]))
    here = np.arange(1, slots)[:, None]
    until = np.full(scale.shape, slots, dtype=np.int64)
    # Read backwards, the next change is the least slot so far that differs from the one before it.
    until[:-1] = np.minimum.accumulate(np.where(same, slots, here)[::-1], axis=0)[::-1]
    return until
