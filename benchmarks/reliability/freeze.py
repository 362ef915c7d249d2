"""A worker that stands still for ten seconds: one that is late costs nothing, one that is accepted little."""

from __future__ import annotations

from statistics import median

from benchmarks.claims import Claim
from benchmarks.reliability.runs import at_most, clean, goings_on, outcome, show
from tailcut.testing.chaos.faults import Fault, Plan, numbered

WORKERS, SECONDS, GO_ON, NOTHING = 8, 10.0, 2.0, 0.1
BACKUP, LIMIT = "backup:share=0.75", 400.0


def main(times: int) -> list[Claim]:
    """Run and judge; fewer times, for each takes longer."""
    times = max(2, times // 4)
    accepted = [
        outcome("in the reduction", plan("segment", times, "wait-all"), LIMIT),
        outcome("in the reduction, backup", plan("segment", times, BACKUP), LIMIT),
        outcome("applying, backup", plan("applying", times, BACKUP), LIMIT),
    ]
    late = outcome("late", plan("computing", times, BACKUP), LIMIT)
    still = outcome("nobody is stopped", plan("computing", times, BACKUP, seconds=0.0), LIMIT)
    redone = outcome("wakes with an update that was made anew", redo(max(2, times // 2)), LIMIT)
    found = {"accepted": accepted, "late": [late], "not stopped": [still], "holds a redone round": [redone]}
    show(f"{WORKERS} workers, one stopped for {SECONDS:g} s", found)
    usual, with_late = median(goings_on([still]) or [0.0]), median(goings_on([late]) or [9.0])
    return [
        clean("Stopped", [*accepted, late, still, redone]),
        at_most("An accepted one costs", goings_on(accepted), GO_ON),
        Claim(
            "A late one costs the others nothing: two rounds take",
            f"{with_late:.2f} s, otherwise {usual:.2f} s",
            with_late <= usual + NOTHING,
        ),
        Claim(
            "One that wakes with a round that was made anew comes back clean",
            f"{redone.verdict.abandoned} times",
            redone.verdict.abandoned > 0 and not redone.violations,
        ),
    ]


def plan(point: str, times: int, policy: str, seconds: float = SECONDS) -> Plan:
    """Freezes of one worker after another."""
    faults = [
        Fault(0, number % WORKERS, point, "stop", left=3, seconds=seconds, phase=point)
        for number in range(times)
    ]
    return Plan(numbered(faults), WORKERS, 1, policy)


def redo(times: int) -> Plan:
    """Of four workers one dies in a reduction, one does not complete it, and two that have stand still meanwhile."""
    faults: list[Fault] = []
    for number in range(times):
        dies, *others = ((number + place) % 4 for place in (0, 2, 3))
        faults.append(Fault(0, dies, "segment", left=2, phase="redone"))
        faults += [Fault(0, w, "reduced", "stop", seconds=4.0, calm=False, phase="holds it") for w in others]
    return Plan(numbered(faults), 4, 2)
