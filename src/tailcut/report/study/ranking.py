"""Who got there first: the one order of arms that tables, sentences and figures share."""

from __future__ import annotations

from tailcut.study.grid.facts import ArmFacts, CaseFacts


def ranked(case: CaseFacts) -> list[ArmFacts]:
    """Those whose every run reached the target, soonest first; then by how many did; last who diverged."""
    return sorted(case.arms, key=_place)


def winner(case: CaseFacts) -> ArmFacts | None:
    """The arm with the best mean time to target; None where no arm reached it in all its runs."""
    first = ranked(case)[0]
    return first if first.reached == first.runs else None


def wait_all(case: CaseFacts) -> ArmFacts | None:
    """Plain synchronous training, where it is an arm."""
    return next((facts for facts in case.arms if waits_for_all(facts)), None)


def waits_for_all(facts: ArmFacts) -> bool:
    """Whether this is plain synchronous training."""
    return all(policy.split(":")[0] == "wait-all" for policy in facts.policies)


def _place(facts: ArmFacts) -> tuple[float, float, float]:
    # As shares: an unfinished study has arms with fewer runs than others.
    return (-facts.reached / facts.runs, facts.diverged / facts.runs, facts.time.at_least)
