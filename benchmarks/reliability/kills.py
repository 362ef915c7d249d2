"""Eight workers, killed one after another in every phase of an update."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.claims import Claim
from benchmarks.reliability.runs import Outcome, at_most, clean, comings_back, goings_on, outcome, show
from tailcut.testing.chaos.faults import PHASES, Plan, kills

WORKERS = 8
AT_ONCE = 10
"""Deaths in one run. Of who writes checkpoints, fewer: it is always the same."""
GO_ON, MEDIAN, BACK = 2.0, 0.8, 10.0
BETWEEN = "between first and last completion"
MOST = 4
"""Times as many deaths between the first and the last completion: not every one leaves some with the update and some
without it, and as many as that are to be seen."""
BEGIN, PER_KILL = 60.0, 25.0
"""Seconds of a run at most, and for each death."""
NEEDS: dict[str, dict[str, Any]] = {
    "pulling": {"policy": "backup:share=0.75", "chance": 0.15},
    "checkpointing": {"checkpoint_every": 5},
}
"""Who is to die pulling must be late now and then."""


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
    """So many in one phase, in several runs; between completions, until as many were mixed."""
    at_once = 3 if phase == "checkpointing" else AT_ONCE
    found: list[Outcome] = []
    done = 0
    while done < times or (phase == BETWEEN and count_mixed(found) < times and done < MOST * times):
        some = min(at_once, times - done if done < times else times)
        found.append(outcome(phase, plan(phase, some, done), BEGIN + PER_KILL * at_once))
        done += some
    return found


def count_mixed(runs: list[Outcome]) -> int:
    """Deaths after which some had completed the reduction and some had not."""
    return sum(each.mixed for run in runs for each in run.recoveries)


def plan(phase: str, times: int, seed: int) -> Plan:
    """Deaths in one phase, in one run."""
    return Plan(kills(phase, times, WORKERS, seed), WORKERS, seed, **NEEDS.get(phase, {}))
