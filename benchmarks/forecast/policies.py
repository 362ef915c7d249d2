"""The policies that the benchmark compares, and their labels in the tables."""

from __future__ import annotations

import inspect

from tailcut import names

FILTER, SCENARIOS, DEEP = "bayes:scenarios=false:deep=false", "bayes:deep=false", "bayes:deep=true"
VARIANTS = {
    FILTER: "bayes, filter alone",
    SCENARIOS: "bayes, with scenarios",
    DEEP: "bayes, with deep part",
}
RIVALS = (
    "wait-all",
    "backup",
    "elfving",
    "empirical",
    "regression",
    "bandit",
    "bdsgd",
    "trend",
    "stopping",
)


def flagship() -> str:
    """The variant that plain `bayes` stands for: the one that the claims are about."""
    parameters = inspect.signature(names.policies()["bayes"].make).parameters
    return DEEP if parameters["deep"].default else SCENARIOS


def label(policy: str) -> str:
    """Return the label of a policy in a table."""
    return VARIANTS.get(policy, policy) + (" (= bayes)" if policy == flagship() else "")
