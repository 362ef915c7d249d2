"""Policies by name, as used by the command line and by studies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tailcut.acceptance import (
    ASYNCHRONOUS,
    BATCH_SYNCHRONOUS,
    STALE_SYNCHRONOUS,
    SYNCHRONOUS,
    Acceptance,
    bounded_stale,
)
from tailcut.policies import (
    OLDEST,
    adasync,
    asynchronous,
    backup,
    bandit,
    batch_sync,
    bayes,
    bdsgd,
    bounded,
    dbw,
    deadline,
    drop_compute,
    elfving,
    empirical,
    regression,
    softsync,
    stale_sync,
    stopping,
    trend,
    wait_all,
)
from tailcut.policy import Policy


@dataclass(frozen=True, slots=True)
class NamedPolicy:
    """A policy a user can name.

    Attributes:
        make: function of keyword parameters, all with defaults, that returns the policy; the first line of
            its docstring describes the policy.
        acceptance: rule for which gradients count.
        usual: whether it takes part in a comparison that names no policies.
        bound: the parameter that says by how many rounds a gradient may lag behind, if one does.
    """

    make: Callable[..., Policy]
    acceptance: Acceptance = SYNCHRONOUS
    usual: bool = True
    bound: str | None = None

    def accepts(self, given: Mapping[str, Any]) -> Acceptance:
        """Return the acceptance with these parameters."""
        if self.bound is None or self.bound not in given:
            return self.acceptance
        return replace(self.acceptance, max_staleness=given[self.bound])

    @property
    def about(self) -> str:
        """The description of the policy, one line."""
        return (self.make.__doc__ or "").strip().partition("\n")[0]


POLICIES = {
    "wait-all": NamedPolicy(wait_all),
    "backup": NamedPolicy(backup),
    "elfving": NamedPolicy(elfving),
    "empirical": NamedPolicy(empirical),
    "regression": NamedPolicy(regression),
    "bandit": NamedPolicy(bandit),
    "drop-compute": NamedPolicy(drop_compute),
    "trend": NamedPolicy(trend),
    "stopping": NamedPolicy(stopping),
    "bayes": NamedPolicy(bayes),
    "bdsgd": NamedPolicy(bdsgd, usual=False),
    "deadline": NamedPolicy(deadline, usual=False),
    "dbw": NamedPolicy(dbw, usual=False),
    "adasync": NamedPolicy(adasync, usual=False),
    "batch-sync": NamedPolicy(batch_sync, BATCH_SYNCHRONOUS, usual=False),
    "bounded-stale": NamedPolicy(bounded, bounded_stale(OLDEST), usual=False, bound="most"),
    "stale-sync": NamedPolicy(stale_sync, STALE_SYNCHRONOUS, usual=False),
    "softsync": NamedPolicy(softsync, ASYNCHRONOUS, usual=False),
    "async": NamedPolicy(asynchronous, ASYNCHRONOUS, usual=False),
}
"""Built-in policies by name, in the order in which they are shown."""
