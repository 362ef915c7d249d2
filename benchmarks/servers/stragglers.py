"""Each mini-batch is 10 % likely to take 9 times as long: 8 workers, 2 shards."""

from __future__ import annotations

from statistics import mean

from benchmarks.claims import Claim, print_table
from benchmarks.servers.job import local_cluster, measured, run

LEAST = 1.5
WORKERS, SERVERS = 8, 2


def main(repeats: int) -> list[Claim]:
    """Run and judge."""
    arms = {"wait-all": 1, "backup:c=6": 1, "bayes": 1, "bayes, dropping": 20}
    found: dict[str, list[float]] = {name: [] for name in arms}
    with local_cluster(WORKERS + SERVERS) as ray:
        for _ in range(repeats):
            for name, pieces in arms.items():
                policy = name.partition(",")[0]
                result = run(
                    ray,
                    policy,
                    workers=WORKERS,
                    servers=SERVERS,
                    hidden=100,
                    seconds=0.1,
                    chance=0.1,
                    pieces=pieces,
                )
                found[name].append(measured(result).gradients)
    base = mean(found["wait-all"])
    rows = [
        [
            name,
            *(f"{each:.1f}" for each in (mean(rates), max(rates), min(rates))),
            f"{mean(rates) / base:.2f}",
        ]
        for name, rates in found.items()
    ]
    print_table(
        f"10 % of the mini-batches take 9 times as long: {WORKERS} workers, {SERVERS} shards, 100 ms of work",
        ("", "gradients/s", "best", "worst", "over wait-all"),
        rows,
    )
    ratio = mean(found["bayes"]) / base
    return [Claim(f"bayes ≥ {LEAST} × wait-all in gradients per second", f"{ratio:.2f}", ratio >= LEAST)]
