"""All workers in the newest update die right after it: how long the others take to continue without it."""

from __future__ import annotations

from statistics import median, quantiles

from benchmarks.claims import Claim
from benchmarks.reliability.runs import NEVER, at_most, clean, goings_on, outcome, show
from tailcut.testing.chaos.faults import Plan, newest_holders

WORKERS, AT_ONCE, DEATHS = 4, 10, 2
"""Workers, deaths in one run, and deaths for each of the faults that were asked for."""
MEDIAN, WORST = 0.5, 1.0
"""Limits in seconds."""
BEGIN, PER_KILL = 60.0, 25.0
"""Seconds of a run at most, and for each death."""


def main(times: int) -> list[Claim]:
    """Run and judge."""
    many = DEATHS * times
    runs = [
        outcome("newest holders", plan(min(AT_ONCE, many - done), done), BEGIN + PER_KILL * AT_ONCE)
        for done in range(0, many, AT_ONCE)
    ]
    show(f"{WORKERS} workers, all in the newest update killed", {"all": runs})
    on = goings_on(runs)
    print(f"seconds to continue: {', '.join(f'{each:.2f}' for each in sorted(on))}", flush=True)
    if len(on) > 1 and max(on) < NEVER:
        print(f"deciles: {', '.join(f'{each:.2f}' for each in quantiles(on, n=10))}", flush=True)
    middle = median(on) if on else NEVER
    return [
        Claim(f"Holders of the newest update killed ≥ {many} times", str(len(on)), len(on) >= many),
        clean("Holders of the newest update killed", runs),
        Claim(f"The others continue in, median ≤ {MEDIAN:g} s", f"{middle:.2f} s", middle <= MEDIAN),
        at_most("The others continue in", on, WORST),
    ]


def plan(times: int, seed: int) -> Plan:
    """Deaths in one run; an update takes two gradients, or one, so that others have to fetch it."""
    policy = "backup:c=2" if seed % (2 * AT_ONCE) else "backup:c=1"
    return Plan(newest_holders(times), WORKERS, seed, policy, chance=0.3, times=2.0)
