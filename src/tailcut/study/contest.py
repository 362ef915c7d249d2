"""One policy on one table or timeline: the run, and the time that its decisions take."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tailcut.acceptance import SYNCHRONOUS, Acceptance
from tailcut.bounds import first_in_turn
from tailcut.engines.simulated import Run, first_arrivals, replay
from tailcut.policy import Policy
from tailcut.study.timed import Timed
from tailcut.table import Table
from tailcut.timeline import Timeline
from tailcut.types import FloatArray, Seconds


@dataclass(frozen=True, slots=True)
class Entrant:
    """A policy in a comparison, with its name and its acceptance of gradients.

    Attributes:
        name: name as the user wrote it, parameters included.
        policy: the policy itself.
        acceptance: rule for which gradients count; synchronous by default.
    """

    name: str
    policy: Policy
    acceptance: Acceptance = field(default=SYNCHRONOUS)

    @property
    def whole_and_fresh(self) -> bool:
        """Return whether only whole gradients of the current version count, as for the bounds."""
        return self.acceptance == SYNCHRONOUS and self.policy.micro == 1


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The outcome of one policy's run.

    Attributes:
        run: the run, round by round.
        decision_ms: `(decisions,)` milliseconds of each decision; empty where none had to be taken.
        round_ms: mean milliseconds per round for learning, forecasting and deciding; None where nothing was timed.
    """

    run: Run
    decision_ms: FloatArray
    round_ms: float | None


def contest(table: Table | Timeline, entrant: Entrant, *, late_finish: bool, overhead: Seconds) -> Outcome:
    """Let one policy run through a table or a timeline. A fixed cutoff needs no decisions."""
    fixed = entrant.policy.rule.fixed_count(table.workers)
    if fixed is not None and not late_finish and table.whole and entrant.acceptance == SYNCHRONOUS:
        at_once = first_arrivals if isinstance(table, Table) else first_in_turn
        return Outcome(at_once(table, fixed, overhead), np.zeros(0), None)  # type: ignore[arg-type]
    watch = Timed(entrant.policy)
    run = replay(
        table,
        watch,
        late_finish=late_finish,
        overhead=overhead,
        acceptance=entrant.acceptance,
        micro=entrant.policy.micro,
        sees_all=entrant.policy.sees_all,
    )
    return Outcome(run, 1e3 * np.array(watch.decisions), 1e3 * watch.total / max(run.rounds, 1))
