"""Stop a worker for ten seconds: a late worker costs the others nothing, an accepted one little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import mean

from benchmarks.claims import Claim, print_table
from benchmarks.reliability.runs import all_struck, at_most, clean, goings_on, outcome, show
from tailcut.testing.chaos.faults import Fault, Plan, numbered
from tailcut.testing.chaos.recovery import Pace

WORKERS, SECONDS, GO_ON = 8, 10.0, 2.0
LEAST = 0.9
"""Least share of the others' updates per second that they keep while a late worker is stopped."""
CALM = 4.0
"""Seconds that all workers run between a freeze and the measurement of the pace before the next one."""
BACKUP, LIMIT = "backup:share=0.75", 400.0


def main(times: int) -> list[Claim]:
    """Run and judge, with fewer repeats, because each takes longer."""
    times = max(2, times // 4)
    accepted = [
        outcome("in the reduction", plan("segment", times, "wait-all"), LIMIT),
        outcome("in the reduction, backup", plan("segment", times, BACKUP), LIMIT),
        outcome("applying, backup", plan("applying", times, BACKUP), LIMIT),
    ]
    late = outcome("late", with_calm(plan("computing", times, BACKUP)), LIMIT)
    still = outcome("nobody is stopped", plan("computing", times, BACKUP, seconds=0.0), LIMIT)
    redone = outcome("wakes with an update that was made anew", redo(max(2, times // 2)), LIMIT)
    found = {"accepted": accepted, "late": [late], "not stopped": [still], "holds a redone round": [redone]}
    show(f"{WORKERS} workers, one stopped for {SECONDS:g} s", found)
    show_paces(late.paces)
    return [
        all_struck("Stopped", [*accepted, late, still, redone]),
        clean("Stopped", [*accepted, late, still, redone]),
        at_most("An accepted one costs", goings_on(accepted), GO_ON),
        as_fast(late.paces, times),
        Claim(
            "One that wakes with a round that was made anew comes back clean",
            f"{redone.verdict.abandoned} times",
            redone.verdict.abandoned > 0 and not redone.violations,
        ),
    ]


def as_fast(found: Sequence[Pace], times: int) -> Claim:
    """Return the claim that the others keep at least `LEAST` of their pace in all planned freezes."""
    ratios = [each.during / each.before for each in found]
    told = f"{mean(ratios):.2f}, worst {min(ratios):.2f}, best {max(ratios):.2f}" if ratios else "nothing"
    return Claim(
        f"A late one costs the others nothing: of their pace, mean over {times} ≥ {LEAST:g}",
        told,
        len(ratios) == times and mean(ratios) >= LEAST,
    )


def show_paces(found: Sequence[Pace]) -> None:
    """Print a row for each freeze."""
    rows = [
        [str(number), f"{each.before:.1f}", f"{each.during:.1f}", f"{each.during / each.before:.2f}"]
        for number, each in enumerate(found, 1)
    ]
    columns = ("time", f"{SECONDS:g} s before", "while it stands still", "ratio")
    print_table("A late one is stopped: updates per second of the others", columns, rows)


def plan(point: str, times: int, policy: str, seconds: float = SECONDS) -> Plan:
    """Return the plan that stops one worker after another."""
    faults = [
        Fault(0, number % WORKERS, point, "stop", left=3, seconds=seconds, phase=point)
        for number in range(times)
    ]
    return Plan(numbered(faults), WORKERS, 1, policy)


def with_calm(planned: Plan) -> Plan:
    """Return the plan with a pause before each fault in which all workers run for as long as it lasts."""
    first, *others = planned.faults
    faults = [
        replace(first, pause=SECONDS + CALM),
        *(replace(each, pause=2 * SECONDS + CALM) for each in others),
    ]
    return replace(planned, faults=tuple(faults))


def redo(times: int) -> Plan:
    """Plan redone rounds: of four workers one dies in a reduction, two that completed it are stopped."""
    faults: list[Fault] = []
    for number in range(times):
        dies, *others = ((number + place) % 4 for place in (0, 2, 3))
        faults.append(Fault(0, dies, "segment", left=2, phase="redone"))
        faults += [Fault(0, w, "reduced", "stop", seconds=4.0, calm=False, phase="holds it") for w in others]
    return Plan(numbered(faults), 4, 2)
