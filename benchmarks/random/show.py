"""The results on random clusters as claims, a table, the ten worst and the distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from benchmarks.anywhere.play import geometric_mean
from benchmarks.claims import Claim, print_table
from benchmarks.random.play import Cluster

CLOCK_MEAN, CLOCK_WORST, TABLE_MEAN = 0.99, 0.95, 0.98
"""Limits of the claims."""
WORST_SHOWN = 10
EDGES = (0.8, 0.9, 0.95, 0.97, 0.98, 0.99, 1.0, 1.01, 1.05)
"""The scores between which the distribution counts clusters."""
COLUMNS = (
    "seed",
    "clock score",
    "table score",
    "by blocks",
    "of clairvoyant",
    "of wait-all",
    "collapsed",
    "workers",
    "what it is",
)


def claims_of(clusters: Sequence[Cluster], policy: str) -> list[Claim]:
    """Return what is claimed of all clusters together; nothing of none."""
    if not clusters:
        return []
    clock, table = (geometric_mean(scores) for scores in scores_of(clusters))
    worst = min(clusters, key=lambda one: one.clock_score)
    early = [one for one in clusters if one.collapsed]
    number = f"{len(clusters)} clusters"
    closed = ", ".join(f"seed {one.seed} ({one.collapsed})" for one in early[:5])
    return [
        Claim(
            f"random: the clock score of {policy} is at least {CLOCK_MEAN:g} in the geometric mean",
            f"{clock:.4f} over {number}",
            clock >= CLOCK_MEAN,
        ),
        Claim(
            f"random: the clock score of {policy} is at least {CLOCK_WORST:g} on every cluster",
            f"{worst.clock_score:.4f} on seed {worst.seed}, the worst of {number}; "
            f"{sum(one.clock_score < CLOCK_WORST for one in clusters)} are below",
            worst.clock_score >= CLOCK_WORST,
        ),
        Claim(
            f"random: the table score of {policy} is at least {TABLE_MEAN:g} in the geometric mean",
            f"{table:.4f} over {number}",
            table >= TABLE_MEAN,
        ),
        Claim(
            f"random: no round of {policy} closes with fewer than half of the arrivals of the best deadline unless the "
            "clairvoyant's does too",
            f"{sum(one.collapsed for one in clusters)} rounds of {len(early)} clusters{': ' if early else ''}{closed}",
            not early,
        ),
    ]


def scores_of(clusters: Sequence[Cluster]) -> tuple[list[float], list[float]]:
    """Return the clock scores and the table scores."""
    return [one.clock_score for one in clusters], [one.table_score for one in clusters]


def cells(one: Cluster) -> list[str]:
    """Return a row of the table."""
    blocks = one.by_rounds.by_blocks
    return [
        str(one.seed),
        f"{one.clock_score:.4f}",
        f"{one.table_score:.4f}",
        "" if blocks is None else f"{blocks:.4f}",
        f"{one.by_clock.policy / one.by_clock.clairvoyant:.3f}",
        f"{one.by_clock.of_wait_all:.3f}",
        str(one.collapsed or ""),
        f"{one.workers:,}",
        one.about,
    ]


def line(one: Cluster) -> str:
    """Return a line about a cluster that has just been played."""
    return (
        f"seed {one.seed}: clock score {one.clock_score:.4f}, table score {one.table_score:.4f}; {one.about}"
    )


def worst_first(clusters: Sequence[Cluster]) -> list[Cluster]:
    """Return the clusters in the order of their clock score."""
    return sorted(clusters, key=lambda one: one.clock_score)


def distribution(clusters: Sequence[Cluster]) -> list[tuple[str, int, int]]:
    """Return how many clusters have clock scores and table scores between the edges."""
    clock, table = scores_of(clusters)
    rows = []
    for low, high in pairwise((-math.inf, *EDGES, math.inf)):
        name = f"{low:g}–{high:g}"
        if math.isinf(low):
            name = f"below {high:g}"
        elif math.isinf(high):
            name = f"{low:g} and more"
        rows.append((name, *(sum(low <= score < high for score in scores) for scores in (clock, table))))
    return rows


def show(clusters: Sequence[Cluster], policy: str, seeds: str) -> None:
    """Print everything; the clusters in the order of their seeds."""
    if not clusters:
        return
    print_table(f"{policy} on random clusters, seeds {seeds}", COLUMNS, [cells(one) for one in clusters])
    print_table(
        f"the {WORST_SHOWN} worst by clock score",
        COLUMNS,
        [cells(one) for one in worst_first(clusters)[:WORST_SHOWN]],
    )
    most = max(max(clock, table) for _, clock, table in distribution(clusters))
    print_table(
        "distribution: clusters by score",
        ("score", "clock", "", "table", " "),
        [
            (name, str(clock), _bar(clock, most), str(table), _bar(table, most))
            for name, clock, table in distribution(clusters)
        ],
    )


def _bar(count: int, most: int) -> str:
    filled = round(40 * count / most)
    return "█" * filled + "·" * (40 - filled)
