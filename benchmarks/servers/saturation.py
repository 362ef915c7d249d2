"""One server's saturation point: how many gradients a second it takes, and how shards and workers change that.

Asynchronous, so that nobody waits for anybody: every gradient is an update of its own, and servers are the only thing
that all have to go through. Workers compute next to nothing.
"""

from __future__ import annotations

from statistics import mean

from benchmarks.claims import Claim, print_table
from benchmarks.servers.job import local_cluster, measured, run
from benchmarks.servers.traffic import loopback

WORKERS, SERVERS = (1, 2, 4, 8), (1, 2, 4)
UNIT = 0.02
"""Seconds of sleep that a gradient takes."""
UPDATES = 150


def main(repeats: int) -> list[Claim]:
    """Run and show; there is no limit to hold."""
    rates: dict[tuple[int, int], list[float]] = {(w, s): [] for s in SERVERS for w in WORKERS}
    moved: dict[tuple[int, int], list[float]] = {key: [] for key in rates}
    with local_cluster(max(WORKERS) + max(SERVERS)) as ray:
        for _ in range(repeats):
            for workers, servers in rates:
                before = loopback()
                result = run(ray, "async", workers=workers, servers=servers, seconds=UNIT, updates=UPDATES)
                rates[workers, servers].append(measured(result).gradients)
                moved[workers, servers].append((loopback() - before) / UPDATES)
    rows = [
        [
            f"{servers} shard{'s' * (servers > 1)}",
            *(
                f"{mean(rates[w, servers]):.0f} ({min(rates[w, servers]):.0f}–{max(rates[w, servers]):.0f})"
                for w in WORKERS
            ),
            f"{mean(moved[max(WORKERS), servers]) / 1e3:.0f}",
        ]
        for servers in SERVERS
    ]
    ideal = [f"{w / UNIT:.0f}" for w in WORKERS]
    rows.append(["nothing but computing", *ideal, ""])
    print_table(
        f"Gradients per second, asynchronous, 1 M parameters, {1e3 * UNIT:.0f} ms of work; {repeats} repeats",
        ("", *(f"{w} worker{'s' * (w > 1)}" for w in WORKERS), "KB of messages each"),
        rows,
    )
    return []
