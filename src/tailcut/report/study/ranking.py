"""The order of arms that tables, sentences and figures share, by time to target."""

from __future__ import annotations

from tailcut.study.grid.facts import ArmFacts, CaseFacts


def ranked(case: CaseFacts) -> list[ArmFacts]:
    """Return the arms by share of runs that reached the target, then fewest diverged runs, then time."""
    return sorted(case.arms, key=_place)


def winner(case: CaseFacts) -> ArmFacts | None:
    """Return the arm with the best mean time to target; None if no arm reached it in all its runs."""
    first = ranked(case)[0]
    return first if first.reached == first.runs else None


def wait_all(case: CaseFacts) -> ArmFacts | None:
    """Return plain synchronous training if it is an arm, else None."""
    return next((facts for facts in case.arms if waits_for_all(facts)), None)


def waits_for_all(facts: ArmFacts) -> bool:
    """Return whether an arm is plain synchronous training."""
    return all(policy.split(":")[0] == "wait-all" for policy in facts.policies)


def _place(facts: ArmFacts) -> tuple[float, float, float]:
    # Compare shares, because in an unfinished study some arms have fewer runs than others.
    return (-facts.reached / facts.runs, facts.diverged / facts.runs, facts.time.at_least)
