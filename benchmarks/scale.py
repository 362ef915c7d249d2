"""Measure how the simulator's cost grows: fixed cutoffs against one np.sort, every policy with doubled sizes.

python -m benchmarks.scale
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table

from tailcut import names
from tailcut.acceptance import SYNCHRONOUS
from tailcut.study.contest import Entrant, contest
from tailcut.table import Table as RunTimeTable

LIMIT_SORT, LIMIT_DOUBLING = 5.0, 2.3
ROUNDS, WORKERS = 100, 256
AT_ONCE = (16_000, 512)
"""Rounds and workers before doubling, for policies that play all rounds at once. A table with fewer rounds
would fit into the cache before it is doubled but not after, and numpy selects from rows of up to 256 with
vector instructions, four times as fast."""
TRAINS_ITSELF = "bdsgd"
"""The policy that is left out: it trains for a fixed time in mid-run, which says nothing about growth."""


def best_of(times: int, work: Callable[[], object]) -> float:
    """Seconds of the fastest of several tries: the one the machine disturbed least."""
    took = []
    for _ in range(times):
        began = perf_counter()
        work()
        took.append(perf_counter() - began)
    return min(took)


def lognormal(rounds: int, workers: int) -> RunTimeTable:
    rng = np.random.default_rng(0)
    return RunTimeTable.dense(np.exp(0.3 * rng.standard_normal((rounds, workers))))


def against_sort() -> bool:
    table = lognormal(1000, 2175)
    sort = best_of(7, lambda: np.sort(table.seconds, axis=1))
    out = Table(
        title=f"1,000 rounds × 2,175 workers, over one np.sort ({1e3 * sort:.0f} ms); limit {LIMIT_SORT:g}"
    )
    out.add_column("policy")
    out.add_column("ratio", justify="right")
    ok = True
    for name in ("wait-all", "backup"):
        entrant = names.entrant(name)
        took = best_of(7, lambda e=entrant: contest(table, e, late_finish=False, overhead=0.0))  # type: ignore[misc]
        ok &= took <= LIMIT_SORT * sort
        out.add_row(name, f"{took / sort:.2f}")
    Console().print(out)
    return ok


def doubling() -> bool:
    out = Table(title=f"time when doubled; limit {LIMIT_DOUBLING:g}")
    for column in ("policy", "from rounds × workers", "workers × 2", "rounds × 2"):
        out.add_column(column, justify="right" if column != "policy" else "left")
    ok = True
    for name, named in names.policies().items():
        if name == TRAINS_ITSELF:
            continue
        entrant = names.entrant(name)
        fixed = entrant.policy.rule.fixed_count(WORKERS) is not None and named.acceptance == SYNCHRONOUS
        rounds, workers = AT_ONCE if fixed else (ROUNDS, WORKERS)
        base = took(rounds, workers, entrant)
        wider, longer = took(rounds, 2 * workers, entrant) / base, took(2 * rounds, workers, entrant) / base
        ok &= wider <= LIMIT_DOUBLING and longer <= LIMIT_DOUBLING
        out.add_row(name, f"{rounds} × {workers}", f"{wider:.2f}", f"{longer:.2f}")
    Console().print(out)
    return ok


def took(rounds: int, workers: int, entrant: Entrant) -> float:
    table = lognormal(rounds, workers)
    tries = 9 if rounds >= AT_ONCE[0] else 3  # a few milliseconds are easily disturbed
    return best_of(tries, lambda: contest(table, entrant, late_finish=False, overhead=0.0))


def main() -> bool:
    return bool(against_sort() & doubling())


if __name__ == "__main__":
    raise SystemExit(0 if main() else 1)
