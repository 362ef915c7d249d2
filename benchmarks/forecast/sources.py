"""Sources of the run times in the big table, and of the rounds on which the published model is trained."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from benchmarks.forecast import models
from tailcut import names
from tailcut.clusters import Iid, LogNormal
from tailcut.study.source import Draw, Sampled, Source
from tailcut.types import FloatArray

NAMED = (
    "xeon158",
    "knl2175",
    "groups-in-turn",
    "iid-lognormal",
    "drift",
    "sudden-change:at=150",
    "trap10",
    "demo8",
    "nodes16",
)
STRUCTURED = ("xeon158", "knl2175", "groups-in-turn", "nodes16")
"""Clusters in which workers share their fate: where the published model should be at its best."""
EQUAL = "nothing-straggles"
"""32 workers, all run times within about 1 %: the right answer is to wait for all."""
ROUNDS = 300
FEWER = {"knl2175": 200}
FEWER_TO_TRAIN_ON = {"knl2175": 300}
OF_TRACE = 0.4
"""Part of a trace's own first rounds that the published model is trained on. It is then measured on those rounds too,
which favours it."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class OneSeed(Source):
    """One sample of another source."""

    name: str
    about: str
    inner: Source
    seed: int

    @property
    def has_law(self) -> bool:
        """Return whether the inner source has a law."""
        return self.inner.has_law

    def seeds(self, wanted: int) -> int:
        """Return 1: there is one sample, whatever is wanted."""
        del wanted
        return 1

    def draw(self, seed: int, rounds: int | None) -> Draw:
        """Return the one sample, whatever the seed."""
        del seed
        return self.inner.draw(self.seed, rounds)


def traces() -> list[str]:
    """Files of the folder TAILCUT_DATA/traces, if it is set."""
    folder = os.environ.get("TAILCUT_DATA")
    found = sorted(str(path) for path in Path(folder, "traces").glob("*.npz")) if folder else []
    if not found:
        print("No traces: set TAILCUT_DATA to a folder with traces/*.npz to measure on them too.")
    return found


def opened(name: str) -> Source:
    """The source of a name in the table."""
    if name == EQUAL:
        cluster = Iid(LogNormal(1.0, 0.003), 32)
        return Sampled(EQUAL, "32 workers, i.i.d. log-normal run times, sigma 0.003", cluster, ROUNDS)
    return names.source(name)


def is_trace(name: str) -> bool:
    """Return whether a name stands for a trace file."""
    return name != EQUAL and name not in names.clusters()


def rounds_of(name: str, rounds: int) -> int | None:
    """Return how many rounds of a source the table takes; None for all rounds of a trace."""
    return None if is_trace(name) else min(FEWER.get(name, rounds), rounds)


def short(names_of_sources: Sequence[str]) -> list[str]:
    """Return the labels of sources in a table."""
    return [Path(name).stem if is_trace(name) else name for name in names_of_sources]


def to_train_on(name: str, rounds: int = models.ROUNDS) -> FloatArray:
    """Return the seconds of the rounds on which the published model is trained, `(rounds, n)`."""
    source = opened(name)
    if is_trace(name):
        seconds = source.draw(0, None).table.seconds
        return seconds[: round(OF_TRACE * len(seconds))]
    return source.draw(models.SEED, min(FEWER_TO_TRAIN_ON.get(name, rounds), rounds)).table.seconds
