"""Kill eight workers, one after another, in every phase of an update."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.claims import Claim
from benchmarks.reliability.runs import Outcome, at_most, clean, comings_back, goings_on, outcome, show
from tailcut.testing.chaos.faults import PHASES, Plan, kills

WORKERS = 8
AT_ONCE = 10
"""Deaths in one run; fewer in `checkpointing`, where the same worker dies each time."""
GO_ON, MEDIAN, BACK = 2.0, 0.8, 10.0
BETWEEN = "between first and last completion"
MOST = 4
"""Most deaths in phase `BETWEEN`, as a multiple of the requested ones: only deaths that leave some workers
with the update and some without it count."""
BEGIN, PER_KILL = 60.0, 25.0
"""Time limit of a run in seconds: a fixed part, and a part for each death."""
NEEDS: dict[str, dict[str, Any]] = {
    "pulling": {"policy": "backup:share=0.75", "chance": 0.15},
    "checkpointing": {"checkpoint_every": 5},
}
"""Extra options of the plan by phase: for a death in `pulling`, workers must sometimes be late."""


def main(times: int) -> list[Claim]:
    """Run and judge."""
    found = {phase: deaths(phase, times) for phase in PHASES}
    show(f"{WORKERS} workers, killed in every phase", found)
    runs = [run for phase in found.values() for run in phase]
    on = goings_on(runs)
    mixed = count_mixed(runs)
    middle = median(on) if on else float("inf")
    struck = min(sum(len(run.recoveries) for run in phase) for phase in found.values())
    return [
        Claim(f"Killed ≥ {times} times in each phase", f"{struck} in one", struck >= times),
        clean("Killed in every phase", runs),
        at_most("The others go on in", on, GO_ON),
        Claim(f"The others go on in, median ≤ {MEDIAN:g} s", f"{middle:.2f} s", middle <= MEDIAN),
        at_most("Who was killed takes part again in", comings_back(runs), BACK),
        Claim(f"Mixed completions ≥ {times}", str(mixed), mixed >= times),
    ]


def deaths(phase: str, times: int) -> list[Outcome]:
    """Run until `times` workers have died in a phase; in `BETWEEN`, until as many deaths were mixed."""
    at_once = 3 if phase == "checkpointing" else AT_ONCE
    found: list[Outcome] = []
    done = 0
    while done < times or (phase == BETWEEN and count_mixed(found) < times and done < MOST * times):
        some = min(at_once, times - done if done < times else times)
        found.append(outcome(phase, plan(phase, some, done), BEGIN + PER_KILL * at_once))
        done += some
    return found


def count_mixed(runs: list[Outcome]) -> int:
    """Return how many deaths left some workers with the reduction completed and some without."""
    return sum(each.mixed for run in runs for each in run.recoveries)


def plan(phase: str, times: int, seed: int) -> Plan:
    """Return the plan of one run, with deaths in one phase."""
    return Plan(kills(phase, times, WORKERS, seed), WORKERS, seed, **NEEDS.get(phase, {}))
