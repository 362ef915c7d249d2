"""Does the simulator, given the run times that a live run recorded, say how fast that run was?"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import mean

from benchmarks.claims import Claim, print_table
from benchmarks.live.measure import measured
from tailcut import names
from tailcut.engines.records.read import read_run
from tailcut.study.compare import Setting, compare

WORKERS, MOST = 8, 0.10
POLICIES = ("wait-all", "backup:b=2", "bayes")
SETTINGS = ("--updates", "250", "--unit", "0.1", "--chance", "0.1", "--hidden", "100", "--journal")


def main(repeats: int) -> list[Claim]:
    """Run and judge."""
    rows, claims = [], []
    for policy in POLICIES:
        pairs = [once(policy) for _ in range(max(1, repeats // 2))]
        live, predicted = (mean(values) for values in zip(*pairs, strict=True))
        off = predicted / live - 1.0
        rows.append([policy, f"{live:.1f}", f"{predicted:.1f}", f"{100 * off:+.1f} %"])
        claims.append(
            Claim(
                f"the simulator predicts live {policy} within 10 %", f"{100 * off:+.1f} %", abs(off) <= MOST
            )
        )
    print_table(
        f"Gradients per second, live and replayed on the recorded run times, {WORKERS} workers",
        ("policy", "live", "replayed", "off by"),
        rows,
    )
    return claims


def once(policy: str) -> tuple[float, float]:
    """Gradients per second of one live run, and of its replay; the first rounds count in neither."""
    with tempfile.TemporaryDirectory() as folder:
        measured(policy, WORKERS, SETTINGS, Path(folder))
        run = Path(folder) / "run"
        facts = compare(names.source(str(run)), [names.entrant(policy)], Setting())
        rounds = read_run(run).rounds[facts.warmup :]
    live = sum(record.count for record in rounds) / (
        rounds[-1].opened + rounds[-1].elapsed - rounds[0].opened
    )
    replayed = next(each for each in facts.policies if each.policy == policy)
    return live, replayed.throughput.mean
