"""The order of policies that table and figures share, by throughput."""

from __future__ import annotations

import math

from tailcut.study.facts import PolicyFacts, SourceFacts


def policies(source: SourceFacts) -> list[PolicyFacts]:
    """Return the policies without the bounds, highest throughput first."""
    return _ranked([facts for facts in source.policies if facts.kind != "bound"])


def bounds(source: SourceFacts) -> list[PolicyFacts]:
    """Return the bounds, which need hindsight or the true law, highest throughput first."""
    return _ranked([facts for facts in source.policies if facts.kind == "bound"])


def everyone(source: SourceFacts) -> list[PolicyFacts]:
    """Return policies, then bounds."""
    return policies(source) + bounds(source)


def best(source: SourceFacts) -> PolicyFacts | None:
    """Return the policy with the highest throughput, None if there are only bounds.

    Policies that count partial or stale gradients are excluded: they do not answer "how long should I wait".
    """
    ranked = [facts for facts in policies(source) if facts.kind == "policy"]
    return ranked[0] if ranked else None


def wait_all(source: SourceFacts) -> PolicyFacts | None:
    """Return plain synchronous SGD if it was compared, else None."""
    return next((facts for facts in source.policies if waits_for_all(facts)), None)


def bound(source: SourceFacts, name: str) -> PolicyFacts | None:
    """Return the bound called `name` if it was compared, else None."""
    return next((facts for facts in bounds(source) if facts.policy == name), None)


def waits_for_all(facts: PolicyFacts) -> bool:
    """Return whether a policy is plain synchronous SGD."""
    return facts.policy.split("(")[0].split(":")[0] == "wait-all"


def _ranked(some: list[PolicyFacts]) -> list[PolicyFacts]:
    return sorted(some, key=_place)


def _place(facts: PolicyFacts) -> tuple[float, bool]:
    rate = facts.throughput.mean
    # Among equally fast policies, waiting for all is the simplest.
    return (math.inf if math.isnan(rate) else -rate, not waits_for_all(facts))
