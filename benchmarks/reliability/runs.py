"""One plan of trouble after another, what the checker says of each, and what the faults cost."""

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
"""Seconds until something that did not happen."""
KEPT = Path(__file__).parents[2] / "out" / "reliability"
"""Where the folder of a run stays that the checker complains of."""
COLUMNS = (
    *("phase", "faults", "missed", "mixed completions", "go on: median, s", "worst, s", "back: median, s"),
    *("worst, s", "violations"),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one run.

    Attributes:
        plan: that was carried out.
        ended: how it ended.
        verdict: of the checker.
        recoveries: from the faults that struck.
        violations: from outside and from the journals.
        paces: of the others, while somebody stood still.
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
    """Carry out a plan; what it leaves is kept only where something is wrong.

    Args:
        name: for what is printed.
        plan: of the run.
        limit: seconds.
        expected: whether something has to be wrong.
        more: tells what else is wrong, as sentences, while the folder of the run is there.
    """
    root = Path(tempfile.mkdtemp(prefix="chaos-"))
    ended = carry_out(plan, root / "run", limit)
    verdict = ended.verdict()
    journals, struck = lives(ended.folder.journals), strikes(ended.folder.strikes)
    found = tuple(recoveries(journals, struck))
    # Now: what was said is in the folder, which does not stay where it is.
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
    """A row for each phase."""
    print_table(title, COLUMNS, [_row(phase, runs) for phase, runs in phases.items()])


def _row(phase: str, runs: Sequence[Outcome]) -> list[str]:
    found = [each for run in runs for each in run.recoveries]
    missed = sum(run.ended.missed for run in runs)
    mixed = sum(each.mixed for each in found)
    violations = sum(len(run.violations) for run in runs)
    times = [*_both(goings_on(runs)), *_both(comings_back(runs))]
    return [phase, str(len(found)), str(missed), str(mixed), *times, str(violations)]


def goings_on(runs: Sequence[Outcome]) -> list[float]:
    """Seconds until the others went on, after each fault; `NEVER` where they did not."""
    return [NEVER if each.go_on is None else each.go_on for run in runs for each in run.recoveries]


def comings_back(runs: Sequence[Outcome]) -> list[float]:
    """Seconds until who was killed took part again; `NEVER` where it did not."""
    deaths = [each for run in runs for each in run.recoveries if _is_of_a_worker(each)]
    return [NEVER if each.back is None else each.back for each in deaths]


def _is_of_a_worker(one: Recovery) -> bool:
    """Whether a worker was killed, with others or alone: controllers never come back, others take their place."""
    return one.struck.deed == "kill" and max(one.struck.worker, *one.struck.also, -1) >= 0


def _both(seconds: Sequence[float]) -> tuple[str, str]:
    return (_told(median(seconds)), _told(max(seconds))) if seconds else ("", "")


def _told(seconds: float) -> str:
    return "never" if seconds == NEVER else f"{seconds:.2f}"


def clean(text: str, runs: Sequence[Outcome]) -> Claim:
    """Whether the checker has nothing to say."""
    violations = [each for run in runs for each in run.violations]
    return Claim(
        f"{text}: no update lost, doubled or forked", f"{len(violations)} violations", not violations
    )


def all_struck(text: str, runs: Sequence[Outcome]) -> Claim:
    """Whether every fault that was planned was carried out, kind by kind."""
    planned = Counter(fault.phase for run in runs for fault in run.plan.faults)
    struck = Counter(each.struck.phase for run in runs for each in run.recoveries)
    found = [f"{kind}: {struck[kind]} of {many}" for kind, many in planned.items()]
    return Claim(f"{text}: every fault strikes", ", ".join(found), bool(planned) and struck == planned)


def at_most(text: str, seconds: Sequence[float], limit: float) -> Claim:
    """Whether the worst is within a limit."""
    worst = max(seconds, default=NEVER)
    found = "never, once or more" if worst == NEVER else f"{worst:.2f} s at worst"
    return Claim(f"{text} ≤ {limit:g} s", found if seconds else "nothing", worst <= limit)
