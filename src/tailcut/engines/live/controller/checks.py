"""Checks for impossible parameters of a run, and impossible messages."""

from __future__ import annotations

from tailcut.acceptance import SYNCHRONOUS
from tailcut.engines.live.messages import Applied, Arrived, Bye, Hello, State
from tailcut.errors import ParameterError
from tailcut.learning.rates import Noisy, RateRule
from tailcut.round import Rounds
from tailcut.rules.base import Rule

MOST_SAMPLES, LEAST_SHARE = 1 << 40, 1e-9
"""Most samples, and smallest share above 0, that an arrival can state of a mini-batch."""
MOST_MEETINGS = 100
"""Most different numbers that scripts can give to `opt.every`."""


def check_parameters(
    rounds: Rounds, workers: int, total: int | None, min_workers: int, rate: RateRule
) -> None:
    """Refuse a run with impossible parameters.

    Raises:
        ParameterError: a parameter is impossible; the message names it.
    """
    if workers < 1:
        raise ParameterError(f"A run needs at least 1 worker, but got workers={workers}.")
    if not 1 <= min_workers <= workers:
        raise ParameterError(f"min_workers must be from 1 to {workers}, but got {min_workers}.")
    if total is not None and total < 0:
        raise ParameterError(f"total must be 0 or more, but got {total}. Leave it out for no end.")
    if rounds.acceptance != SYNCHRONOUS:
        raise ParameterError(
            "Live training is synchronous: one gradient of each worker, of the newest parameters. "
            "The policy takes older ones, or several of a worker. Simulate it, or choose another."
        )
    rule = getattr(rounds.policy, "rule", None)
    if isinstance(rule, Rule) and rule.takes_stale:
        raise ParameterError(
            "Live training takes no gradients of older parameters, but the policy has how=stale. Use how=wait."
        )
    objective = getattr(getattr(rounds.policy, "rule", None), "objective_name", "count")
    if objective == "descent":
        raise ParameterError(
            "The policy goes by the loss, which live training does not know. Simulate it, or choose another."
        )
    if objective == "gain" and not isinstance(rate, Noisy):
        raise ParameterError(
            'objective=gain goes with its own learning-rate rule: give rate="gain" (--rate gain), '
            "or leave the objective out."
        )


def impossible(message: Arrived) -> str | None:
    """Return why an arrival cannot be counted, as a sentence; None if it can."""
    is_share = message.share == 0.0 or LEAST_SHARE <= message.share <= 1.0
    if 0 <= message.samples <= MOST_SAMPLES and is_share:
        return None
    return (
        f"Worker {message.worker} arrived with samples={message.samples} and share={message.share}. "
        "Samples must be 0 or more and the share of the mini-batch from 0 to 1."
    )


def untimely(message: Arrived | Applied | State | Bye | Hello, newest: int) -> str | None:
    """Return why no worker can be at a message's version, as a sentence; None if one can.

    Args:
        message: message that tells the version.
        newest: newest version that a worker has reported: others can be one further, but no more.
    """
    if 0 <= message.version <= newest + 1:
        return None
    return (
        f"Worker {message.worker} says that it is at version {message.version}, but the newest is {newest}. "
        "Start it again."
    )
