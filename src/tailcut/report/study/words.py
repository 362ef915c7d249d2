"""The sentences of a study's report, for the terminal and the page. Names of arms are in back-ticks."""

from __future__ import annotations

from tailcut.report.formats import figure, known
from tailcut.report.study.formats import duration, goal, reached, span
from tailcut.report.study.ranking import ranked, wait_all, waits_for_all, winner
from tailcut.report.words import printable
from tailcut.study.grid.facts import ArmFacts, CaseFacts
from tailcut.study.grid.statics import MARGIN, Against


def setting(case: CaseFacts) -> str:
    """Describe the setting of a case in one line."""
    common = case.setting
    seeds = len(set().union(*(facts.seeds for facts in case.arms)))
    parts = [
        _count(common.workers, "worker"),
        f"{common.batch} samples each",
        f"{common.parameters:,} parameters",
        _count(seeds, "seed"),
        f"target: {goal(common)}",
        "late workers finish" if common.late == "finish" else "late workers stop at once",
    ]
    if common.overhead:
        parts.append(f"{duration(common.overhead)} overhead a round")
    if common.requeue:
        parts.append("dropped mini-batches are done again")
    return ", ".join(parts)


def headline(case: CaseFacts) -> str:
    """Name the first arm at the target, and how much sooner it is than plain synchronous training.

    Example:
        "`bayes` reaches 96 % accuracy in 41.2 s, `wait-all` in 193 s: 4.69 × sooner."
    """
    first, plain = winner(case), wait_all(case)
    target = goal(case.setting)
    if first is None:
        return _nobody(case)
    said = f"{_name(first)} reaches {target} in {duration(first.time.mean)}"
    if len(case.arms) == 1:
        return f"{said}."
    if waits_for_all(first):
        return f"{said}, before all others{_next(case)}."
    if plain is None:
        return f"{said}{_next(case)}."
    if plain.reached < plain.runs:
        return f"{said}; {_name(plain)} reaches it in {reached(plain)} runs."
    gain = plain.time.mean / first.time.mean
    return f"{said}, {_name(plain)} in {duration(plain.time.mean)}: {figure(gain)} × sooner."


def comparison(case: CaseFacts) -> str:
    """Describe the verdicts against the best static arms; empty if no arm was compared with one."""
    found: dict[str, list[str]] = {}
    for facts in ranked(case):
        if facts.against is not None:
            found.setdefault(facts.against.verdict, []).append(_name(facts))
    if not found:
        return ""
    margin = f"{100 * (MARGIN - 1):.0f} %"
    said = {
        "sooner": "Sooner than the best static arm",
        "not worse": f"Not worse than it by more than {margin}",
        "not shown": f"Not shown to be within {margin} of it, nor beyond",
        "worse": f"Worse by more than {margin}",
    }
    parts = [f"{said[verdict]}: {', '.join(found[verdict])}." for verdict in said if verdict in found]
    return " ".join(parts) + " Judged by paired tests over seeds, corrected for the number of arms."


def ratio(against: Against) -> str:
    """Format the mean ratio with its interval: `0.62 (0.58–0.66)`."""
    if not known(against.mean) and against.mean != float("inf"):
        return "–"
    told = "∞" if against.mean == float("inf") else figure(against.mean)
    return f"{told} ({span(against.interval)})" if known(against.interval.low) else told


def _nobody(case: CaseFacts) -> str:
    target, first = goal(case.setting), ranked(case)[0]
    if first.reached:
        return f"No arm reached {target} in all its runs; {_name(first)} did in {reached(first)}."
    if all(facts.diverged == facts.runs for facts in case.arms):
        return f"Every run diverged on the way to {target}."
    return f"No run reached {target}."


def _next(case: CaseFacts) -> str:
    second = ranked(case)[1]
    if second.reached < second.runs:
        return f"; no other arm does so in all its runs ({_name(second)}: {reached(second)})"
    return f"; next is {_name(second)} in {duration(second.time.mean)}"


def _name(facts: ArmFacts) -> str:
    return f"`{printable(facts.arm)}`"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
