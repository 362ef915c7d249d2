"""Carry out plans of faults, and show the checker's verdicts and the cost of the faults."""

from __future__ import annotations

import math
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.claims import Claim, print_table
from tailcut.testing.chaos.checker import Verdict
from tailcut.testing.chaos.faults import Plan
from tailcut.testing.chaos.journals import lives
from tailcut.testing.chaos.recovery import Pace, Recovery, paces, recoveries, strikes
from tailcut.testing.chaos.run import Ended, carry_out

NEVER = math.inf
"""Seconds until an event that never happened."""
KEPT = Path(__file__).parents[2] / "out" / "reliability"
"""Folder that keeps the files of runs in which the checker finds violations."""
COLUMNS = (
    *("phase", "faults", "missed", "mixed completions", "go on: median, s", "worst, s", "back: median, s"),
    *("worst, s", "violations"),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one run.

    Attributes:
        plan: the plan that was carried out.
        ended: end of the run, seen from outside.
        verdict: verdict of the checker.
        recoveries: recoveries from the faults that struck.
        violations: violations seen from outside and in the journals.
        paces: paces of the other workers while one was stopped.
    """

    plan: Plan
    ended: Ended
    verdict: Verdict
    recoveries: tuple[Recovery, ...]
    violations: tuple[str, ...] = ()
    paces: tuple[Pace, ...] = ()


def outcome(
    name: str,
    plan: Plan,
    limit: float,
    expected: bool = False,
    more: Callable[[Ended], Sequence[str]] = lambda ended: (),
) -> Outcome:
    """Carry out a plan, and keep its files only where unexpected violations were found.

    Args:
        name: label of the printed line.
        plan: plan of the run.
        limit: time limit of the run, in seconds.
        expected: whether violations are expected; they are then neither printed nor kept.
        more: returns further violations, as sentences, while the folder of the run exists.
    """
    root = Path(tempfile.mkdtemp(prefix="chaos-"))
    ended = carry_out(plan, root / "run", limit)
    verdict = ended.verdict()
    journals, struck = lives(ended.folder.journals), strikes(ended.folder.strikes)
    found = tuple(recoveries(journals, struck))
    # Read the violations now: the folder is moved or deleted below.
    violations = (*ended.violations, *verdict.violations, *more(ended))
    told = Outcome(plan, ended, verdict, found, violations, tuple(paces(journals, struck)))
    print(
        f"{name}: {len(found)} faults, {ended.missed} missed, {verdict.versions} versions, {verdict.lives} lives, "
        f"{verdict.abandoned} updates nobody was left to hand on, replay {verdict.deviation:.0e} apart, "
        f"{ended.seconds:.0f} s",
        flush=True,
    )
    for violation in told.violations if not expected else ():
        print(f"  {violation}", flush=True)
    if told.violations and not expected:
        KEPT.mkdir(parents=True, exist_ok=True)
        place = KEPT / root.name
        shutil.move(root, place)
        print(f"  kept in {place}", flush=True)
    else:
        shutil.rmtree(root)
    return told


def show(title: str, phases: Mapping[str, Sequence[Outcome]]) -> None:
    """Print a row for each phase."""
    print_table(title, COLUMNS, [_row(phase, runs) for phase, runs in phases.items()])


def _row(phase: str, runs: Sequence[Outcome]) -> list[str]:
    found = [each for run in runs for each in run.recoveries]
    missed = sum(run.ended.missed for run in runs)
    mixed = sum(each.mixed for each in found)
    violations = sum(len(run.violations) for run in runs)
    times = [*_both(goings_on(runs)), *_both(comings_back(runs))]
    return [phase, str(len(found)), str(missed), str(mixed), *times, str(violations)]


def goings_on(runs: Sequence[Outcome]) -> list[float]:
    """Return the seconds from each fault until the others resumed; `NEVER` where they did not."""
    return [NEVER if each.go_on is None else each.go_on for run in runs for each in run.recoveries]


def comings_back(runs: Sequence[Outcome]) -> list[float]:
    """Return the seconds until each killed worker took part again; `NEVER` where it did not."""
    deaths = [each for run in runs for each in run.recoveries if _is_of_a_worker(each)]
    return [NEVER if each.back is None else each.back for each in deaths]


def _is_of_a_worker(one: Recovery) -> bool:
    """Return whether a worker was among the killed; a killed controller never comes back."""
    return one.struck.deed == "kill" and max(one.struck.worker, *one.struck.also, -1) >= 0


def _both(seconds: Sequence[float]) -> tuple[str, str]:
    return (_told(median(seconds)), _told(max(seconds))) if seconds else ("", "")


def _told(seconds: float) -> str:
    return "never" if seconds == NEVER else f"{seconds:.2f}"


def clean(text: str, runs: Sequence[Outcome]) -> Claim:
    """Return the claim that the checker finds no violation."""
    violations = [each for run in runs for each in run.violations]
    return Claim(
        f"{text}: no update lost, doubled or forked", f"{len(violations)} violations", not violations
    )


def all_struck(text: str, runs: Sequence[Outcome]) -> Claim:
    """Return the claim that every planned fault was carried out, counted by kind."""
    planned = Counter(fault.phase for run in runs for fault in run.plan.faults)
    struck = Counter(each.struck.phase for run in runs for each in run.recoveries)
    found = [f"{kind}: {struck[kind]} of {many}" for kind, many in planned.items()]
    return Claim(f"{text}: every fault strikes", ", ".join(found), bool(planned) and struck == planned)


def at_most(text: str, seconds: Sequence[float], limit: float) -> Claim:
    """Return the claim that no value exceeds a limit, in seconds."""
    worst = max(seconds, default=NEVER)
    found = "never, once or more" if worst == NEVER else f"{worst:.2f} s at worst"
    return Claim(f"{text} ≤ {limit:g} s", found if seconds else "nothing", worst <= limit)
