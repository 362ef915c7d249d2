"""`stopping` with the true law against exact dynamic programming, on the same run times of four i.i.d. laws.

python -m benchmarks.optimal
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

from tailcut.clusters import Iid, Law, LogNormal, ParetoTailed, ShiftedExponential
from tailcut.clusters.presets import PRESETS
from tailcut.engines.simulated import replay
from tailcut.forecast import Truth
from tailcut.optimal import best_fixed_cutoff_rate, best_fixed_deadline_rate, optimal_stopping, wait_all_rate
from tailcut.policy import Policy
from tailcut.rules import Stopping

LEAST = 0.995
GRID = 6000


@dataclass(frozen=True)
class Shares:
    """Rates over the optimal one; `stopping` and `optimum` on the same sampled rows."""

    stopping: float
    wait_all: float
    cutoff: float
    deadline: float


def laws() -> dict[str, Iid]:
    demo = PRESETS["demo8"].factory()
    assert isinstance(demo, Iid)
    return {
        "8 workers, 10 % 9 × slow": demo,
        "32 workers, log-normal σ .35": Iid(LogNormal(sigma=0.35), n=32),
        "32 workers, 1 + exponential": Iid(ShiftedExponential(shift=1.0, scale=0.25), n=32),
        "16 workers, Pareto tail": Iid(ParetoTailed(), n=16),
    }


def fine_grid(law: Law) -> np.ndarray:
    levels = np.linspace(0.5 / GRID, 1 - 0.5 / GRID, GRID)
    return np.unique(np.concatenate([law.quantile(levels), law.quantile(1 - np.geomspace(1e-6, 1e-3, 200))]))


def shares(cluster: Iid, rounds: int, seed: int = 0) -> Shares:
    times = fine_grid(cluster.marginal)
    survival = cluster.marginal.survival(times)
    best = optimal_stopping(times, survival, cluster.n, 0.0)
    sample = cluster.sample(rounds, np.random.default_rng(seed))
    counts, elapsed = best.run(sample.table.seconds)
    optimum = counts.sum() / elapsed.sum()
    ours = replay(sample.table, Policy(Truth(cluster.law, sample.hidden), Stopping())).throughput()
    return Shares(
        stopping=float(ours / optimum),
        wait_all=wait_all_rate(times, survival, cluster.n, 0.0) / best.rate,
        cutoff=best_fixed_cutoff_rate(times, survival, cluster.n, 0.0) / best.rate,
        deadline=best_fixed_deadline_rate(times, survival, cluster.n, 0.0) / best.rate,
    )


def main(rounds: int = 3000) -> bool:
    table = Table(title=f"share of the optimal stopping rate (stopping: on {rounds} sampled rounds)")
    for column in ("law", "wait-all", "best cutoff", "best deadline", "stopping"):
        table.add_column(column, justify="left" if column == "law" else "right")
    ok = True
    for name, cluster in laws().items():
        found = shares(cluster, rounds)
        ok &= found.stopping >= LEAST
        table.add_row(
            name,
            f"{found.wait_all:.3f}",
            f"{found.cutoff:.3f}",
            f"{found.deadline:.3f}",
            f"{found.stopping:.4f}",
        )
    Console().print(table)
    return ok


if __name__ == "__main__":
    raise SystemExit(0 if main() else 1)
