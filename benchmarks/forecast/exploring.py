"""Measure what letting late workers finish costs where it teaches nothing, and what it gains in a trap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.claims import print_table
from benchmarks.forecast.policies import flagship
from benchmarks.forecast.pool import Job, spread
from benchmarks.forecast.shares import one_sample

SOURCES = ("trap10", "xeon158", "demo8", "iid-lognormal")
ROUNDS = 300
MOST_SEEDS = 3
BEGIN = 150
"""First round of the last column: in trap10, 50 rounds after the change. That column compares with a
clairvoyant that starts there too, so that its price of a second does not depend on rounds before the
change."""


def main(
    seeds: int = 5, rounds: int = ROUNDS, sources: Sequence[str] = SOURCES, processes: int | None = None
) -> None:
    """Measure and print, at most three seeds; nothing is claimed."""
    seeds = min(seeds, MOST_SEEDS)
    with_it, without = flagship(), f"{flagship()}:explore=false"
    done = spread(
        "with and without exploring",
        [
            Job((name, seed), one_sample, (name, seed, (with_it, without), rounds))
            for name in sources
            for seed in range(seeds)
        ],
        processes,
    )
    rows = []
    for name in sources:
        samples = [done.results[name, seed] for seed in range(seeds) if (name, seed) in done.results]
        if not samples:
            continue
        begin = min(BEGIN, rounds // 2)
        for policy in (with_it, without):
            shares = [one.of_clairvoyant[policy] for one in samples]
            rows.append(
                [
                    f"{name}: {'bayes' if policy == with_it else 'bayes:explore=false'}",
                    f"{np.mean(shares):.4f} ({min(shares):.3f}–{max(shares):.3f})",
                    f"{np.mean([one.later(policy, begin) for one in samples]):.4f}",
                ]
            )
    print_table(
        f"what exploring costs and buys: share of the clairvoyant, {seeds} seeds of {rounds} rounds",
        ("source, policy", "mean (worst–best)", f"from round {min(BEGIN, rounds // 2)} on"),
        rows,
    )
    done.or_stop()
