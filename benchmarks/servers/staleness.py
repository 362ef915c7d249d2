"""Staleness on servers beside that of virtual time, where gradients take the run times that were measured."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, median

import numpy as np

from benchmarks.claims import Claim, print_table
from benchmarks.servers.job import local_cluster, measured, run
from tailcut import names
from tailcut.engines.servers.plan import Result
from tailcut.engines.simulated import updates
from tailcut.table import Table
from tailcut.types import NO_NODE, FloatArray, RoundRecord

WORKERS, UPDATES, SKIPPED = 8, 400, 50
LIMIT = 0.1
"""By which means may differ, relatively."""
POLICIES = ("async", "softsync")


def stale_of(records: Sequence[RoundRecord]) -> FloatArray:
    """Of every gradient that was used, after the beginning."""
    return np.concatenate([record.staleness for record in records[SKIPPED:]])


def simulated(result: Result, name: str, overhead: float) -> FloatArray:
    """Staleness in virtual time; run times are drawn from those that workers had, each from its own."""
    rng = np.random.default_rng(0)
    own: list[list[float]] = [[] for _ in range(WORKERS)]
    for record in result.rounds:
        seen = record.run_times
        for worker, seconds in zip(seen.workers[seen.observed], seen.seconds[seen.observed], strict=True):
            own[worker].append(float(seconds))
    for settle in result.settled:
        own[settle.worker].append(settle.run_time)
    drawn = np.column_stack([rng.choice(each, UPDATES) for each in own])
    entrant = names.entrant(name)
    stream = updates(
        Table(drawn, np.ones_like(drawn, dtype=np.bool_), tuple(range(WORKERS)), np.full(WORKERS, NO_NODE)),
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


def main(repeats: int) -> list[Claim]:
    """Run and judge."""
    rows, claims = [], []
    with local_cluster(WORKERS + 2) as ray:
        for name in POLICIES:
            apart = []
            for _ in range(repeats):
                result = run(
                    ray,
                    name,
                    workers=WORKERS,
                    servers=2,
                    hidden=100,
                    seconds=0.2,
                    chance=0.1,
                    updates=UPDATES,
                )
                seen = stale_of(result.rounds)
                # An update is open for the next gradient when the shards have made it.
                told = simulated(result, name, 1e-3 * measured(result).make)
                apart.append(seen.mean() / told.mean())
                quantiles = [
                    f"{np.quantile(one, q):.0f} / {np.quantile(other, q):.0f}"
                    for q in (0.5, 0.9, 0.99)
                    for one, other in [(seen, told)]
                ]
                rows.append([name, f"{seen.mean():.2f} / {told.mean():.2f}", f"{apart[-1]:.2f}", *quantiles])
            worst = max(abs(each - 1) for each in apart)
            claims.append(
                Claim(
                    f"{name}: mean staleness within {LIMIT:.0%} of virtual time, every run",
                    f"{mean(apart):.2f} (middle {median(apart):.2f}, furthest {worst:.2f} away)",
                    worst <= LIMIT,
                )
            )
    print_table(
        f"Staleness of used gradients, on servers / in virtual time; {WORKERS} workers, 10 % are 9 times as slow",
        ("", "mean", "ratio", "median", "90 %", "99 %"),
        rows,
    )
    return claims
