"""What a rule is: it turns a forecast, the arrivals so far and the elapsed time into *wait until …* or *close*."""

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
    """What a rule knows when a round opens.

    Attributes:
        roster: who takes part.
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
        """Whether workers cannot start before the round is planned: it says when they stop, or whose old work counts.

        Otherwise the plan is made while they compute. By default a rule that defines `worker_deadline` or
        `welcome_stale` opens with its plan; one that wraps another hands on what that one says.
        """
        own = type(self)
        return own.worker_deadline is not Rule.worker_deadline or own.welcome_stale is not Rule.welcome_stale

    @property
    def objective_name(self) -> str:
        """What the rule takes a round's gradients to be worth, for whoever sets the learning rate.

        `"count"`: each the same, `"gain"`: the decrease of the loss at the best learning rate for so many, `"descent"`:
        that at a fixed learning rate. A rule that wraps another says by default what that one says.
        """
        inner = getattr(self, "inner", None)
        return inner.objective_name if isinstance(inner, Rule) else "count"

    @property
    def takes_stale(self) -> bool:
        """Whether it may ask for gradients of older parameters, by `welcome_stale`: live training has none.

        A rule that wraps another says by default what that one says.
        """
        inner = getattr(self, "inner", None)
        return isinstance(inner, Rule) and inner.takes_stale

    @abstractmethod
    def start(self) -> S:
        """What is remembered before the first round."""

    @abstractmethod
    def plan(self, memory: S, opening: Opening) -> P:
        """Work out once, from what is known at the opening, what `decide` needs."""

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
        """Ids of the cut workers that should finish in the background although late work is abandoned.

        Asked at the close, before `learn`, with a record in which every cut worker is `ABANDONED`; in the record
        that `learn` gets those named here are `PENDING`.
        """
        del memory, record
        return NOBODY

    def worker_deadline(self, plan: P) -> Seconds | None:
        """Seconds after which each worker stops by itself at a micro-batch and arrives with what it has."""
        del plan
        return None

    def welcome_stale(self, plan: P) -> IntArray:
        """Ids of workers whose gradient of an older version this round accepts."""
        del plan
        return NOBODY

    def worth_starting(self, plan: P, position: int, elapsed: Seconds) -> bool:
        """Whether a worker that comes free in mid-round should still begin, or sit out until the next opening.

        Args:
            plan: of the open round.
            position: the worker's place in the roster.
            elapsed: seconds since the opening.
        """
        del plan, position, elapsed
        return True

    def fixed_count(self, n: int) -> int | None:
        """The cutoff with n workers if it depends on nothing else; lets a simulator take all rounds at once."""
        del n
        return None
