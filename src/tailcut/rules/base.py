"""The interface of rules, which turn a forecast, arrivals and elapsed time into wait or close."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from tailcut.types import Decision, Forecast, IntArray, Progress, Roster, RoundRecord, Seconds

S = TypeVar("S")
P = TypeVar("P")

NOBODY: IntArray = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Opening:
    """The state of a round at its opening, as a rule sees it.

    Attributes:
        roster: workers that take part.
        forecast: the law of their run times, or None while nothing is known yet.
        overhead: seconds a round costs beside waiting (reduce, apply, broadcast).
        late_finish: whether late workers finish their work and so start the next round late.
    """

    roster: Roster
    forecast: Forecast | None
    overhead: Seconds = 0.0
    late_finish: bool = False


class Rule(ABC, Generic[S, P]):
    """Plans a round when it opens, decides during it, learns from it when it closed.

    Subclasses are final frozen dataclasses whose fields are parameters only. `S` is what the rule remembers from
    round to round, `P` what it works out once per round; both are passed in and returned. `decide` is a pure
    function of plan and progress: no clock, no randomness beyond what `start` was seeded with.
    """

    @property
    def opens_with_plan(self) -> bool:
        """Return whether workers start only after the round is planned.

        They must where the plan says when they stop, or whose older gradients count; otherwise the plan is
        made while they compute. By default a rule that defines `worker_deadline` or `welcome_stale` opens
        with its plan; a rule that wraps another gives the inner rule's answer.
        """
        own = type(self)
        return own.worker_deadline is not Rule.worker_deadline or own.welcome_stale is not Rule.welcome_stale

    @property
    def objective_name(self) -> str:
        """The name of the value that the rule gives to a round's gradients, for setting the learning rate.

        `"count"`: every gradient counts the same, `"gain"`: the decrease of the loss at the best learning
        rate for their number, `"descent"`: the decrease at a fixed learning rate. A rule that wraps another
        gives by default the inner rule's answer.
        """
        inner = getattr(self, "inner", None)
        return inner.objective_name if isinstance(inner, Rule) else "count"

    @property
    def takes_stale(self) -> bool:
        """Return whether the rule may ask for stale gradients, by `welcome_stale`: live training has none.

        A rule that wraps another gives by default the inner rule's answer.
        """
        inner = getattr(self, "inner", None)
        return isinstance(inner, Rule) and inner.takes_stale

    @abstractmethod
    def start(self) -> S:
        """Return the memory before the first round."""

    @abstractmethod
    def plan(self, memory: S, opening: Opening) -> P:
        """Compute once, from what is known at the opening, what `decide` needs."""

    @abstractmethod
    def decide(self, plan: P, progress: Progress) -> Decision:
        """Wait or close.

        Asked at the opening and then only when the last `Wait` said so, a worker left or a gradient was rejected.
        At a wake-up `progress.elapsed` is no less than the `until` that was asked for.
        """

    def learn(self, memory: S, plan: P, record: RoundRecord) -> S:
        """Remember what the closed round showed."""
        del plan, record
        return memory

    def finishers(self, memory: S, record: RoundRecord) -> IntArray:
        """Return the ids of cut workers that should finish in the background although late work is abandoned.

        Asked at the close, before `learn`, with a record in which every cut worker is `ABANDONED`; in the record
        that `learn` gets those named here are `PENDING`.
        """
        del memory, record
        return NOBODY

    def worker_deadline(self, plan: P) -> Seconds | None:
        """Return the seconds after which a worker stops at a micro-batch and arrives; None for never."""
        del plan
        return None

    def welcome_stale(self, plan: P) -> IntArray:
        """Return the ids of workers whose gradient of an older version this round accepts."""
        del plan
        return NOBODY

    def worth_starting(self, plan: P, position: int, elapsed: Seconds) -> bool:
        """Return whether a worker that becomes free in mid-round starts now, not at the next opening.

        Args:
            plan: plan of the open round.
            position: the worker's place in the roster.
            elapsed: seconds since the opening.
        """
        del plan, position, elapsed
        return True

    def fixed_count(self, n: int) -> int | None:
        """Return the cutoff with n workers if it depends on nothing else; None otherwise.

        Where it does, a simulator takes all rounds at once.
        """
        del n
        return None
