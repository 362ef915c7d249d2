"""Time the parts of a round: moments at which processes reach points, and their processor time in between.

All processes are on this machine, so that they share one clock.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, final

from tailcut.engines.live import points
from tailcut.types import RoundRecord, Seconds

FIRST = 10
"""Rounds that are left out."""
TICK = os.sysconf("SC_CLK_TCK")
KINDS = {"WorkerActor": "workers", "ShardActor": "shards", "raylet": "raylet", "gcs_server": "gcs"}
"""Kinds of processes, by a part of their command line."""


@final
@dataclass(frozen=True, slots=True)
class Stamps:
    """A hook that notes the moment of every point in a process.

    It is called in every new process, as `prepare` of a plan.

    Attributes:
        folder: folder of the notes.
    """

    folder: Path

    def __call__(self, kind: str, number: int) -> None:
        """Watch this process from here on."""
        notes = (self.folder / f"{kind}.{number}.jsonl").open("a", encoding="utf-8")

        def watch(point: str, version: int, chain: bytes, accepted: tuple[int, ...]) -> None:
            del chain, accepted
            notes.write(json.dumps([kind, point, version, time.monotonic()]) + "\n")
            if point in ("computed", "applied"):
                notes.flush()

        points.watch(watch, wants_chain=False)

    def of(self, kind: str, point: str) -> dict[int, list[Seconds]]:
        """Return the moments at which processes of a kind reached a point, by version."""
        found: dict[int, list[Seconds]] = defaultdict(list)
        for file in self.folder.glob(f"{kind}.*.jsonl"):
            for line in file.read_text().rpartition("\n")[0].splitlines():
                _, where, version, moment = json.loads(line)
                if where == point:
                    found[version].append(moment)
        return found


def parts(stamps: Stamps, rounds: Sequence[RoundRecord]) -> dict[str, float]:
    """Return the median milliseconds of each part of a round of wait-all; the parts cover the whole round."""
    begins, ends = stamps.of("worker", "computing"), stamps.of("worker", "computed")
    orders, applied = stamps.of("shard", "applying"), stamps.of("shard", "applied")
    found: dict[str, list[Seconds]] = defaultdict(list)
    for one, two in pairwise(rounds[FIRST:]):
        v, close = one.version, one.opened + one.elapsed
        last = max(ends[v])
        found["jobs out, to the last worker"].append(max(begins[v]) - one.opened)
        found["computing, until the last is done"].append(last - max(begins[v]))
        found["gradient into the store, its news to the driver"].append(close - last)
        found["order out, to the last shard"].append(max(orders[v]) - close)
        found["fetching, adding up and applying"].append(max(applied[v]) - max(orders[v]))
        found["parameters into the store, their news to the driver"].append(two.opened - max(applied[v]))
    return {name: 1e3 * median(seconds) for name, seconds in found.items()}


@final
@dataclass(slots=True)
class Processors:
    """Processor time by kind of process, between two versions of a run.

    An instance is passed as `meanwhile` of a training.
    """

    until: int
    _before: dict[str, float] = field(default_factory=dict)
    _after: dict[str, float] = field(default_factory=dict)
    _versions: list[int] = field(default_factory=list)

    def __call__(self, driver: Any) -> None:
        """Read the processor times at version `FIRST` and at version `until`."""
        if not self._versions and driver.version >= FIRST:
            self._before = _seconds()
            self._versions.append(driver.version)
        elif len(self._versions) == 1 and driver.version >= self.until:
            self._after = _seconds()
            self._versions.append(driver.version)

    @property
    def of_round(self) -> dict[str, float]:
        """Milliseconds of processor time per round, by kind of process."""
        first, last = self._versions
        return {
            kind: 1e3 * (seconds - self._before.get(kind, 0.0)) / (last - first)
            for kind, seconds in self._after.items()
        }


def _seconds() -> dict[str, float]:
    """Return the processor seconds that all processes have used so far, by kind."""
    found: dict[str, float] = defaultdict(float)
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            called = (folder / "cmdline").read_bytes().decode(errors="replace")
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            # The process has ended meanwhile.
            continue
        kind = next((kind for name, kind in KINDS.items() if name in called), None)
        if int(folder.name) == os.getpid():
            kind = "driver"
        if kind is not None:
            found[kind] += (int(fields[11]) + int(fields[12])) / TICK
    return found
