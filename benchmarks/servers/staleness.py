"""Compare staleness on servers with virtual time, in which every gradient has its measured run time.

A worker's k-th gradient takes as long in virtual time as its k-th gradient took on servers, so the two runs
differ only in random orders of arrival, and their whole distributions can be compared, not only their means.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import mean
from typing import final

import numpy as np
from scipy.stats import ks_2samp

from benchmarks.claims import Claim, print_table
from benchmarks.servers.job import local_cluster, measured, run
from tailcut import names
from tailcut.engines.servers.crew import Done
from tailcut.engines.simulated import updates
from tailcut.table import Table
from tailcut.types import NO_NODE, FloatArray, RoundRecord

WORKERS, UPDATES, SKIPPED = 8, 400, 50
LIMIT = 0.1
"""Largest relative difference of mean staleness."""
APART = 0.1
"""Largest difference of two distribution functions of staleness."""
QUANTILES = (0.5, 0.8, 0.9, 0.95, 0.99)
POLICIES = ("async", "softsync")


def stale_of(records: Sequence[RoundRecord]) -> FloatArray:
    """Return the staleness of every used gradient, without the first `SKIPPED` rounds."""
    return np.concatenate([record.staleness for record in records[SKIPPED:]])


@final
class Heard:
    """The run times of every worker's gradients, in order, as the rounds see them."""

    def __init__(self) -> None:
        self.own: list[list[float]] = [[] for _ in range(WORKERS)]

    def __call__(self, done: Done) -> None:
        """Record the run time of a gradient."""
        assert done.came.job.number == len(self.own[done.came.job.worker])
        self.own[done.came.job.worker].append(done.run_time(time.monotonic()))

    def table(self) -> Table:
        """Return run times, `(gradients, workers)`; missing ones are drawn from the worker's own."""
        rng = np.random.default_rng(0)
        drawn = np.column_stack([[*each, *rng.choice(each, UPDATES - len(each))] for each in self.own])
        return Table(
            drawn, np.ones_like(drawn, dtype=np.bool_), tuple(range(WORKERS)), np.full(WORKERS, NO_NODE)
        )


def simulated(table: Table, name: str, overhead: float) -> FloatArray:
    """Return the staleness of every used gradient in virtual time."""
    entrant = names.entrant(name)
    stream = updates(
        table,
        entrant.policy,
        acceptance=entrant.acceptance,
        overhead=overhead,
        rounds=UPDATES,
    )
    records, update = [], next(stream)
    try:
        while True:
            records.append(update.record)
            update = stream.send(None)
    except StopIteration:
        return stale_of(records)


def distance(one: FloatArray, other: FloatArray) -> float:
    """Return the largest distance between two distribution functions (Kolmogorov–Smirnov)."""
    found = ks_2samp(one, other, method="asymp")
    return float(found.statistic)


def main(repeats: int) -> list[Claim]:
    """Run and judge."""
    rows, claims = [], []
    with local_cluster(WORKERS + 2) as ray:
        for name in POLICIES:
            ratios, distances = [], []
            for _ in range(repeats):
                heard = Heard()
                result = run(
                    ray,
                    name,
                    workers=WORKERS,
                    servers=2,
                    hidden=100,
                    seconds=0.2,
                    chance=0.1,
                    updates=UPDATES,
                    heard=heard,
                )
                seen = stale_of(result.rounds)
                # The next gradient can be used once the shards have made the update.
                told = simulated(heard.table(), name, 1e-3 * measured(result).make)
                ratios.append(seen.mean() / told.mean())
                distances.append(distance(seen, told))
                quantiles = [f"{np.quantile(seen, q):.0f} / {np.quantile(told, q):.0f}" for q in QUANTILES]
                means = f"{seen.mean():.2f} / {told.mean():.2f}"
                rows.append([name, means, f"{ratios[-1]:.2f}", *quantiles, f"{distances[-1]:.3f}"])
            worst = max(abs(each - 1) for each in ratios)
            claims += [
                Claim(
                    f"{name}: mean staleness within {LIMIT:.0%} of virtual time, every run",
                    f"{mean(ratios):.2f} (furthest {worst:.2f} away)",
                    worst <= LIMIT,
                ),
                Claim(
                    f"{name}: distribution of staleness within {APART:g} of virtual time everywhere, every run",
                    f"{mean(distances):.3f} ({min(distances):.3f}–{max(distances):.3f})",
                    max(distances) <= APART,
                ),
            ]
    print_table(
        f"Staleness of used gradients, on servers / in virtual time; {WORKERS} workers, 10 % are 9 times as slow",
        ("", "mean", "ratio", *(f"{q:.0%}" for q in QUANTILES), "distance"),
        rows,
    )
    return claims
