"""Measure the time of a decision, and of learning and planning in each round."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.anywhere.options import Options
from benchmarks.claims import Claim, print_table
from benchmarks.forecast.critical_path import mean, quantile, timed_run
from tailcut import names

SKIP = 5
"""First rounds left out: work that is done once, and caches that are cold."""
THINK_MS = 250.0
"""Limit of learning and planning per round: 25 % of a core at one round a second."""


@dataclass(frozen=True, slots=True)
class Size:
    """A cluster and its limits.

    Attributes:
        source: named cluster.
        workers: number of workers.
        rounds: number of timed rounds.
        decision_ms: policy to the limit of a decision's 99th percentile, in milliseconds.
        thinks: whether learning and planning have a limit here.
    """

    source: str
    workers: int
    rounds: int
    decision_ms: dict[str, float]
    thinks: bool


SIZES = (
    Size("xeon158", 158, 150, {"stopping": 2.0, "bayes": 2.0}, False),
    Size("knl2175", 2175, 40, {"stopping": 10.0, "bayes": 20.0}, True),
)


def main(options: Options) -> list[Claim]:
    """Measure, print and judge; in this process alone, so that nothing else runs meanwhile."""
    claims, rows = [], []
    for size in SIZES:
        table = names.source(size.source).draw(options.seeds[0], options.rounds or size.rounds).table
        for policy in dict.fromkeys((*size.decision_ms, *options.policies)):
            if not options.takes(f"{size.source} {policy}"):
                continue
            limit = size.decision_ms.get(policy.split(":")[0])
            costs = timed_run(table, names.entrant(policy).policy).after(SKIP)
            p99, think = quantile(costs.decide, 0.99), mean(costs.think)
            rows.append(
                [
                    f"{size.workers:,}",
                    policy,
                    f"{quantile(costs.decide, 0.5):.2f}",
                    f"{p99:.2f}" + (f" (≤ {limit:g})" if limit else ""),
                    f"{think:.1f}" + (f" (≤ {THINK_MS:g})" if size.thinks else ""),
                ]
            )
            if limit:
                text = f"cost: a decision of {policy} at {size.workers:,} workers takes at most {limit:g} ms (p99)"
                claims.append(Claim(text, f"{p99:.2f} ms", p99 <= limit))
            if size.thinks:
                text = (
                    f"cost: {policy} learns and plans a round of {size.workers:,} workers in {THINK_MS:g} ms"
                )
                claims.append(Claim(text, f"{think:.1f} ms", think <= THINK_MS))
    if rows:
        print_table(
            "cost: milliseconds (limit)",
            ("workers", "policy", "decision p50", "decision p99", "learning and planning, per round"),
            rows,
        )
    return claims
