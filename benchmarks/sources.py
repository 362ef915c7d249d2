"""`stopping` beside every bound on every named cluster and on the traces of the folder TAILCUT_DATA.

python -m benchmarks.sources [SEEDS [SOURCE…]]

Traces are played whole, clusters for `ROUNDS` rounds (the largest for fewer), so that the table takes minutes.
"""

from __future__ import annotations

import os
import signal
import sys
from multiprocessing import get_context
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tailcut import names
from tailcut.study.compare import DEADLINE, STATIC, Setting, compare
from tailcut.study.facts import PolicyFacts, SourceFacts

CLOSE = 0.01
"""Largest shortfall of `stopping` against the better of the two bounds in hindsight."""
BASELINES = ("empirical", "elfving", "backup")
FINISH = ("xeon158", "demo8", "groups-in-turn")
ROUNDS = 400
FEWER = {"knl2175": 60}


def traces() -> list[str]:
    folder = os.environ.get("TAILCUT_DATA")
    found = sorted(str(path) for path in Path(folder, "traces").glob("*.npz")) if folder else []
    if not found:
        print("No traces: set TAILCUT_DATA to a folder with traces/*.npz to measure on them too.")
    return found


def one(source: str, seeds: int, late_finish: bool) -> SourceFacts:
    entrants = [names.entrant(name) for name in ("stopping", "wait-all", *BASELINES)]
    rounds = FEWER.get(source, ROUNDS) if source in names.clusters() else None
    return compare(
        names.source(source), entrants, Setting(rounds=rounds, late_finish=late_finish, seeds=seeds)
    )


def by_name(facts: SourceFacts) -> dict[str, PolicyFacts]:
    return {policy.policy: policy for policy in facts.policies}


def row(facts: SourceFacts, table: Table) -> float:
    """Add the source's row; by how much `stopping` is above the better bound in hindsight."""
    found = by_name(facts)
    ours = found["stopping"].of_clairvoyant
    hindsight = max(found[STATIC].of_clairvoyant.mean, found[DEADLINE].of_clairvoyant.mean)
    informed = found.get("informed")
    others = (*BASELINES, "wait-all", STATIC, DEADLINE)
    table.add_row(
        Path(facts.source).stem,
        facts.late,
        *(f"{found[name].of_clairvoyant.mean:.3f}" for name in others),
        f"{informed.of_clairvoyant.mean:.3f}" if informed else "",
        f"{ours.mean:.4f} ({ours.least:.3f}–{ours.most:.3f})",
        f"{ours.mean - hindsight:+.4f}",
    )
    return ours.mean - hindsight


def main(seeds: int = 5, sources: list[str] | None = None) -> bool:
    table = Table(title=f"share of the clairvoyant, {seeds} seeds for clusters: mean (worst–best)")
    columns = (
        "source",
        "late",
        *BASELINES,
        "wait-all",
        STATIC,
        DEADLINE,
        "informed",
        "stopping",
        "above hindsight",
    )
    for column in columns:
        table.add_column(column, justify="left" if column == "source" else "right")
    chosen = sources if sources is not None else [*traces(), *names.clusters()]
    runs = [(source, False) for source in chosen] + [(source, True) for source in chosen if source in FINISH]
    ok = True
    with get_context("spawn").Pool(os.cpu_count(), _leave_interrupts) as pool, _bar(len(runs)) as bar:
        jobs = [pool.apply_async(one, (source, seeds, late_finish)) for source, late_finish in runs]
        try:
            for (_, late_finish), job in zip(runs, jobs, strict=True):
                above = row(job.get(), table)
                ok &= above > 0 if late_finish else above >= -CLOSE
                bar.advance(bar.task_ids[0])
        except KeyboardInterrupt:
            print("Interrupted: the table holds what had ended.")
            ok = False
    Console(width=170).print(table)
    return ok


def _leave_interrupts() -> None:
    """Ctrl-C is for the parent, which shows what has ended and stops the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _bar(total: int) -> Progress:
    bar = Progress(console=Console(stderr=True), transient=True)
    bar.add_task("comparing", total=total)
    return bar


if __name__ == "__main__":
    SEEDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    raise SystemExit(0 if main(SEEDS, sys.argv[2:] or None) else 1)
