"""One of four workers is always late, in every way: how long do rounds of the others take?"""

from __future__ import annotations

import subprocess
import sys
from statistics import mean

from benchmarks.claims import Claim, print_table
from benchmarks.live.jobs.trouble import KINDS
from benchmarks.live.measure import Measured, measured

WORKERS = 4
MOST = 1.15
BESIDE = "sleeps, and an unrelated process burns"
SETTINGS = ("--updates", "60", "--unit", "0.05", "--hidden", "13000")


def main(repeats: int) -> list[Claim]:
    """Run and judge."""
    found: dict[str, list[Measured]] = {kind: [] for kind in (*KINDS, BESIDE)}
    for _ in range(repeats):
        for kind in found:
            found[kind].append(once(kind))
    means = {kind: 1e3 * mean(run.update for run in runs) for kind, runs in found.items()}
    rows, claims = [], []
    for kind, runs in found.items():
        base = means[BESIDE if kind == "burns" else "sleeps"]
        spread = [f"{1e3 * pick(run.update for run in runs):.0f}" for pick in (min, max)]
        rows.append([kind, f"{means[kind]:.0f}", *spread, f"{means[kind] / base:.2f}"])
        if kind not in ("sleeps", BESIDE):
            text = f"rounds of the others take ≤ {MOST} × those beside a sleeping worker when the late one {kind}"
            claims.append(Claim(text, f"{means[kind] / base:.2f}", means[kind] / base <= MOST))
    print_table(
        f"{WORKERS} workers, backup:c=3, 1 M parameters, 50 ms of work; the last worker …",
        ("", "ms per update", "best", "worst", "over sleeping"),
        rows,
    )
    return claims


def once(kind: str) -> Measured:
    """Measure one run; `BESIDE` runs beside an unrelated process that burns as much as "burns" does."""
    if kind != BESIDE:
        return measured("backup:c=3", WORKERS, [*SETTINGS, "--last", kind])
    burner = subprocess.Popen([sys.executable, "-c", "while True: sum(range(10_000))"])
    try:
        return measured("backup:c=3", WORKERS, [*SETTINGS, "--last", "sleeps"])
    finally:
        burner.kill()
        burner.wait()
