"""Find the saturation point of one server: gradients per second, by shards and workers.

Training is asynchronous, so that no worker waits for another and the servers are the only bottleneck;
gradients that come while they are busy go into the next update together. Workers sleep for 2 ms. They are on
one node and servers on another, each with an object store of its own, so that parameters and gradients cross
the loopback device, whose byte counter is read.

A run begins with all workers, and some leave after each measurement, because starting processes would disturb
it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import mean
from typing import Any, TypeAlias, final

from benchmarks.claims import Claim, print_table
from benchmarks.servers import nodes as places
from benchmarks.servers.job import run
from benchmarks.servers.nodes import Nodes, nodes
from benchmarks.servers.traffic import loopback
from tailcut.engines.servers.crew import Done
from tailcut.engines.servers.driver import Driver

WORKERS, SERVERS = (1, 2, 4, 8), (1, 2, 4)
"""Numbers of workers and of shards, each twice the one before; use more on a machine with more processors."""
NETS = {"1 M": (13_000, 30), "8 M": (106_600, 8)}
"""Nets by number of parameters: hidden units, and gradients of each worker that are counted."""
LARGE = "8 M"
UNIT = 0.002
"""Seconds of sleep that a gradient takes."""
GAIN = 1.1
"""Servers are saturated where twice the workers reach less than this multiple of the rate."""


@final
@dataclass(frozen=True, slots=True)
class Cell:
    """One measurement: gradients per second, and bytes moved per gradient, with given workers and shards."""

    rate: float
    bytes: float


Cells: TypeAlias = dict[tuple[str, int, int], list[Cell]]
"""Measurements by net, shards and workers; one for each repeat."""


@final
@dataclass(slots=True)
class _Counting:
    """Hooks of one run that measure, and remove workers after each measurement.

    Attributes:
        many: gradients of each worker to count.
        cells: measurements by number of workers.
        gradients: number of gradients so far; all are used.
    """

    many: int
    cells: dict[int, Cell] = field(default_factory=dict)
    gradients: int = 0
    _left: list[int] = field(default_factory=lambda: sorted(WORKERS))
    _settled_at: int = 2 * max(WORKERS)
    _began: tuple[int, float, int] | None = None

    def heard(self, done: Done) -> None:
        """Count a gradient."""
        self.gradients += 1

    def __call__(self, driver: Driver) -> None:
        """Begin or end a measurement when enough gradients have come."""
        if driver.over:
            return
        workers, now = self._left[-1], (self.gradients, time.monotonic(), loopback())
        if self._began is None:
            if len(driver.roster.there) == workers and self.gradients >= self._settled_at:
                self._began = now
        elif self.gradients >= self._began[0] + self.many * workers:
            gradients, seconds, moved = (
                after - before for after, before in zip(now, self._began, strict=True)
            )
            self.cells[workers] = Cell(gradients / seconds, moved / gradients)
            self._left.pop()
            driver.over = not self._left
            for worker in range(self._left[-1] if self._left else workers, workers):
                driver.remove(worker)
            # By then every worker has sent gradients since the others left.
            self._began, self._settled_at = None, self.gradients + 2 * workers


def counted(cluster: Nodes, hidden: int, servers: int, many: int) -> dict[int, Cell]:
    """Return the measurements of one run, by number of workers."""
    counting = _Counting(many)
    needs: dict[str, Any] = {"worker_needs": {places.WORKERS: 1}, "server_needs": {places.SERVERS: 1}}
    run(
        cluster.ray,
        "async",
        workers=max(WORKERS),
        servers=servers,
        hidden=hidden,
        seconds=UNIT,
        updates=1_000_000,
        more=needs,
        meanwhile=counting,
        heard=counting.heard,
    )
    return counting.cells


def saturated(rates: Mapping[int, float]) -> int | None:
    """The workers from which on twice as many add next to nothing, up to the most there were; None if they still do.

    Example:
        >>> saturated({1: 10.0, 2: 19.0, 4: 20.0, 8: 20.5}), saturated({1: 10.0, 2: 10.5, 4: 12.0})
        (2, None)
    """
    counts = sorted(rates)
    flat = [rates[two] < GAIN * rates[one] for one, two in pairwise(counts)]
    steep = max((place + 1 for place, is_flat in enumerate(flat) if not is_flat), default=0)
    return counts[steep] if steep < len(flat) else None


def main(repeats: int) -> list[Claim]:
    """Run and judge."""
    found: Cells = {(net, s, w): [] for net in NETS for s in SERVERS for w in WORKERS}
    with nodes({places.SERVERS: max(SERVERS)}) as cluster:
        cluster.add(**{places.WORKERS: max(WORKERS)})
        for _ in range(repeats):
            for net, (hidden, many) in NETS.items():
                for servers in SERVERS:
                    for workers, cell in counted(cluster, hidden, servers, many).items():
                        found[net, servers, workers].append(cell)
    for net in NETS:
        _tell(net, found, repeats)
    return _claims(found)


def _rates(found: Cells, net: str, servers: int) -> dict[int, float]:
    return {w: mean(cell.rate for cell in found[net, servers, w]) for w in WORKERS}


def _tell(net: str, found: Cells, repeats: int) -> None:
    rows = []
    for servers in SERVERS:
        point = saturated(_rates(found, net, servers))
        rows.append(
            [
                f"{servers} shard{'s' * (servers > 1)}",
                *(_words(found[net, servers, w]) for w in WORKERS),
                f"> {max(WORKERS)}" if point is None else str(point),
            ]
        )
    print_table(
        f"Gradients per second, and MB that each moves; asynchronous, {net} parameters, {1e3 * UNIT:.0f} ms of sleep; "
        f"{repeats} repeats",
        ("", *(f"{w} worker{'s' * (w > 1)}" for w in WORKERS), "saturated by"),
        rows,
    )


def _words(cells: Sequence[Cell]) -> str:
    rates = [cell.rate for cell in cells]
    moved = mean(cell.bytes for cell in cells) / 1e6
    return f"{mean(rates):.1f} ({min(rates):.1f}–{max(rates):.1f}), {moved:.1f} MB"


def _claims(found: Cells) -> list[Claim]:
    one = _rates(found, LARGE, 1)
    point, most = saturated(one), max(one.values())
    best = {servers: max(_rates(found, LARGE, servers).values()) for servers in SERVERS}
    return [
        Claim(
            f"one server's saturation point is found, {LARGE} parameters: twice the workers add < {GAIN - 1:.0%}",
            f"{point} workers, {most:.1f} gradients per second"
            if point
            else f"none up to {max(WORKERS)} workers",
            point is not None,
        ),
        Claim(
            f"2 shards take at least as many gradients per second as 1, {LARGE} parameters",
            ", ".join(f"{rate:.1f} with {servers}" for servers, rate in best.items()),
            best[2] >= best[1],
        ),
    ]
