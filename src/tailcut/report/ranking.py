"""Who did best: the one order of policies that table and figures share."""

from __future__ import annotations

import math

from tailcut.study.facts import PolicyFacts, SourceFacts


def policies(source: SourceFacts) -> list[PolicyFacts]:
    """What could be used in earnest, highest throughput first."""
    return _ranked([facts for facts in source.policies if facts.kind != "bound"])


def bounds(source: SourceFacts) -> list[PolicyFacts]:
    """What needs hindsight or the true law, highest throughput first."""
    return _ranked([facts for facts in source.policies if facts.kind == "bound"])


def everyone(source: SourceFacts) -> list[PolicyFacts]:
    """Policies, then bounds."""
    return policies(source) + bounds(source)


def best(source: SourceFacts) -> PolicyFacts | None:
    """The policy with the highest throughput, None where there are only bounds.

    What counts parts of gradients or stale ones is shown, but is no answer to "how long should I wait".
    """
    ranked = [facts for facts in policies(source) if facts.kind == "policy"]
    return ranked[0] if ranked else None


def wait_all(source: SourceFacts) -> PolicyFacts | None:
    """Plain synchronous rounds, where they were compared."""
    return next((facts for facts in source.policies if waits_for_all(facts)), None)


def bound(source: SourceFacts, name: str) -> PolicyFacts | None:
    """The bound called `name`, where it was compared."""
    return next((facts for facts in bounds(source) if facts.policy == name), None)


def waits_for_all(facts: PolicyFacts) -> bool:
    """Whether this is plain synchronous SGD."""
    return facts.policy.split("(")[0].split(":")[0] == "wait-all"


def _ranked(some: list[PolicyFacts]) -> list[PolicyFacts]:
    return sorted(some, key=_place)


def _place(facts: PolicyFacts) -> tuple[float, bool]:
    rate = facts.throughput.mean
    # Equally fast, the simpler one is the better answer.
    return (math.inf if math.isnan(rate) else -rate, not waits_for_all(facts))
