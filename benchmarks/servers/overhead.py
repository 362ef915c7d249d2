"""What a round costs beside computing: 8 workers, a million parameters, 1, 2 and 4 shards; the torch engine too."""

from __future__ import annotations

from statistics import mean

from benchmarks.claims import Claim, print_table
from benchmarks.live.measure import measured as live
from benchmarks.servers.job import Rounds, local_cluster, measured, run

LIMIT = 15.0
"""Milliseconds."""
WORKERS = 8


def main(repeats: int) -> list[Claim]:
    """Run and judge."""
    found: dict[int, list[Rounds]] = {1: [], 2: [], 4: []}
    with local_cluster(WORKERS + max(found)) as ray:
        for _ in range(repeats):
            for servers, runs in found.items():
                runs.append(measured(run(ray, servers=servers)))
    torch = [
        live("wait-all", WORKERS, ["--updates", "60", "--unit", "0.05", "--hidden", "13000"]).gradients
        for _ in range(repeats)
    ]
    rows = [
        [
            f"{servers} shards",
            *(
                f"{mean(getattr(one, part) for one in runs):.1f}"
                for part in ("way", "make", "overhead", "update")
            ),
            f"{mean(one.gradients for one in runs):.1f}",
        ]
        for servers, runs in found.items()
    ]
    rows.append(
        ["torch engine, wait-all", "", "", "", f"{1e3 * WORKERS / mean(torch):.1f}", f"{mean(torch):.1f}"]
    )
    columns = ("", "jobs out, news back", "shards", "overhead", "update", "gradients/s")
    print_table(f"A round of {WORKERS} workers, 1 M parameters, 50 ms of work; milliseconds", columns, rows)
    best = min(mean(one.overhead for one in runs) for runs in found.values())
    return [Claim(f"A round costs ≤ {LIMIT:g} ms beside computing", f"{best:.1f} ms", best <= LIMIT)]
