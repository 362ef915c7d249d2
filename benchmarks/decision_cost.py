"""Measure a decision of `stopping` at 158 and at 2,175 workers, and compare it with our limits.

python -m benchmarks.decision_cost
"""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table

from tailcut import names
from tailcut.study.contest import contest

CASES = (("xeon158", 200, 1.0, 20.0), ("knl2175", 40, 10.0, 200.0))


def main() -> bool:
    table = Table(title="stopping: milliseconds (limit)")
    for column in ("workers", "decisions a round", "p50", "p99", "per round, all in"):
        table.add_column(column, justify="right")
    ok = True
    for name, rounds, decision_limit, round_limit in CASES:
        draw = names.source(name).draw(seed=0, rounds=rounds)
        outcome = contest(draw.table, names.entrant("stopping"), late_finish=False, overhead=0.0)
        p50, p99 = np.quantile(outcome.decision_ms, [0.5, 0.99])
        assert outcome.round_ms is not None
        ok &= p99 <= decision_limit and outcome.round_ms <= round_limit
        table.add_row(
            str(draw.table.workers),
            f"{len(outcome.decision_ms) / rounds:.1f}",
            f"{p50:.2f}",
            f"{p99:.2f} ({decision_limit:g})",
            f"{outcome.round_ms:.1f} ({round_limit:g})",
        )
    Console().print(table)
    return ok


if __name__ == "__main__":
    raise SystemExit(0 if main() else 1)
