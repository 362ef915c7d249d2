"""Tuning: an arm trains with the policy and learning rate that are best on seeds that no result uses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tailcut.study.grid.config import Arm, Study

if TYPE_CHECKING:  # Reports use this module without torch.
    from tailcut.study.grid.folder import Try

FIRST_SEED = 1000
"""First seed of the tuning; results use 0, 1, …"""


@dataclass(frozen=True, slots=True)
class Choice:
    """The choice of the tuning for an arm on a task and cluster."""

    policy: str
    rate: float


def rates_of(study: Study, arm: Arm) -> tuple[float, ...]:
    """Return the learning rates to try for an arm."""
    return study.rates if arm.rates is None else arm.rates


def edge_of(rate: float, rates: Sequence[float]) -> Literal["lowest", "highest"] | None:
    """Return the end of the tried rates at which a chosen rate is: a better one may lie beyond.

    Returns:
        The end; None inside the grid, and where there was only one rate.

    Example:
        >>> edge_of(0.4, (0.1, 0.2, 0.4)), edge_of(0.2, (0.1, 0.2, 0.4)), edge_of(0.4, (0.4,))
        ('highest', None, None)
    """
    if len(set(rates)) < 2:
        return None
    return "lowest" if rate <= min(rates) else "highest" if rate >= max(rates) else None


def edge_note(arms: Sequence[tuple[str, float, Sequence[float]]]) -> str | None:
    """Return the sentence about the arms whose chosen rate is at an edge of its grid; None if no arm's is.

    Args:
        arms: name, chosen rate and rates tried of each.
    """
    found = [(name, rate, edge_of(rate, rates)) for name, rate, rates in arms]
    told = [f"`{name}` {rate:g} ({edge})" for name, rate, edge in found if edge is not None]
    if not told:
        return None
    return (
        f"The learning rate that tuning chose is the lowest or highest that was tried: {', '.join(told)}. A better "
        "one may lie beyond: give wider rates before these arms are called slow."
    )


def best(tries: Sequence[Try], at: Literal["least", "most"]) -> Choice:
    """Return the policy and rate that reached the target most often, then soonest, then came closest to it.

    Args:
        tries: runs of one arm, task and cluster.
        at: whether the target's figure has to be at least or at most the target's value.
    """
    by_choice: dict[Choice, list[Try]] = {}
    for one in tries:
        by_choice.setdefault(Choice(one.policy, one.result.rate), []).append(one)
    return min(by_choice, key=lambda choice: _badness(by_choice[choice], at))


def _badness(tries: Sequence[Try], at: Literal["least", "most"]) -> tuple[float, float, float]:
    results = [one.result for one in tries]
    reached = [result.seconds for result in results if math.isfinite(result.seconds)]
    sign = -1.0 if at == "least" else 1.0
    short = [math.inf if math.isnan(result.last) else sign * result.last for result in results]
    soon = sum(reached) / len(reached) if reached else math.inf
    return -float(len(reached)), soon, sum(short) / len(short)


def told(tries: Sequence[Try], chosen: dict[tuple[str, str, str], Choice]) -> dict[str, Any]:
    """Return the choices and all runs of the tuning as plain values."""
    out: dict[str, Any] = {}
    for (task, cluster, arm), choice in chosen.items():
        mine = [one for one in tries if (one.task, one.cluster, one.arm) == (task, cluster, arm)]
        seconds: dict[tuple[str, float], list[float | None]] = {}
        for one in mine:
            found = one.result.seconds
            seconds.setdefault((one.policy, one.result.rate), []).append(
                found if math.isfinite(found) else None
            )
        tried = [[policy, rate, times] for (policy, rate), times in seconds.items()]
        out.setdefault(task, {}).setdefault(cluster, {})[arm] = {
            "policy": choice.policy,
            "rate": choice.rate,
            "tried": tried,
        }
    return out
