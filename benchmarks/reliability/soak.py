"""Run under random faults of all kinds: no update is lost, and memory and open files do not grow.

python -m benchmarks.reliability.soak --minutes 10 --faults 300 --seed 1
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from statistics import median

from benchmarks.claims import Claim, print_table
from benchmarks.reliability.runs import Outcome, clean, outcome
from tailcut.testing.chaos.faults import Plan, at_random

WORKERS, LEVEL = 8, 0.05
EVERY = 20
"""Updates from one checkpoint to the next, so that full disks affect checkpoints too."""
ROLES = ("controller", "launcher", "workers")
"""Processes whose memory and open files are measured."""
SPARE = 1.1
"""Planned faults per requested fault: some find no process to strike."""


def main(times: int) -> list[Claim]:
    """Run half a minute and fifteen faults per repeat."""
    return soak(times / 2.0, 15 * times, 1)


def soak(minutes: float, faults: int, seed: int) -> list[Claim]:
    """Run and judge."""
    planned = round(SPARE * faults)
    plan = Plan(
        at_random(planned, WORKERS, seed, 60.0 * minutes / planned),
        WORKERS,
        seed,
        "backup:share=0.75",
        size=100_000,
        optimiser="adam",
        chance=0.1,
        journal=True,
        checkpoint_every=EVERY,
    )
    run = outcome("soak", plan, 60.0 * (minutes * 1.5 + 3.0))
    kinds = Counter(each.struck.phase for each in run.recoveries)
    print_table("Faults that struck", ("kind", "times"), [[kind, str(n)] for kind, n in kinds.most_common()])
    return [
        clean("Soak", [run]),
        Claim(
            f"≥ {minutes:g} minutes", f"{run.ended.seconds / 60.0:.1f}", run.ended.seconds >= 60.0 * minutes
        ),
        Claim(
            f"≥ {faults} faults",
            f"{len(run.recoveries)} struck, {run.ended.missed} missed",
            len(run.recoveries) >= faults,
        ),
        *level(run),
    ]


def level(run: Outcome) -> list[Claim]:
    """Return the claims that memory and open files are level: the last third of the run against the second.

    Workers are counted together: the open files of one depend on its age and on the peers that it was
    connected to.
    """
    rows, grown = [], {"memory": list[float](), "files": list[float]()}
    uses = {role: noted for role, noted in run.ended.uses.items() if not role.startswith("worker")}
    every = [one for role, noted in run.ended.uses.items() if role not in uses for one in noted]
    uses["workers"] = sorted(every, key=lambda one: one[0])
    for role in ROLES:
        noted = uses.get(role, [])
        third = len(noted) // 3
        early, late = [used for _, used in noted[third : 2 * third]], [used for _, used in noted[2 * third :]]
        if not early or not late:
            continue
        memory = _growth([use.memory for use in early], [use.memory for use in late])
        files = _growth([use.files for use in early], [use.files for use in late])
        grown["memory"].append(memory)
        grown["files"].append(files)
        figures = [
            f"{median(use.memory for use in late) / 1e6:.0f}",
            f"{100 * memory:+.1f} %",
            f"{median(use.files for use in late):g}",
            f"{100 * files:+.1f} %",
        ]
        rows.append([role, str(len(noted)), *figures])
    columns = ("process", "moments of calm", "memory, MB", "growth", "files", "growth")
    print_table("What processes use, last third over second, medians", columns, rows)
    return [_is_level(what, growth) for what, growth in grown.items()]


def _is_level(what: str, growth: Sequence[float]) -> Claim:
    """Return the claim that no role's use grows by more than `LEVEL`; it fails where a role was not seen."""
    seen = len(growth) == len(ROLES)
    told = f"{100 * max(growth):+.1f} %" if growth else "nothing"
    return Claim(
        f"{what} level within {100 * LEVEL:.0f} %",
        told if seen else f"{told}, of {len(growth)} of {len(ROLES)} kinds of processes",
        seen and max(growth) <= LEVEL,
    )


def _growth(early: Sequence[int], late: Sequence[int]) -> float:
    return median(late) / median(early) - 1.0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--faults", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    told = parser.parse_args()
    claims = soak(told.minutes, told.faults, told.seed)
    for claim in claims:
        print(claim)
    raise SystemExit(0 if all(claim.holds for claim in claims) else 1)
