"""Run a policy against run times, for the timing only: all its updates as one `Run`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tailcut.acceptance import SYNCHRONOUS, Acceptance
from tailcut.engines.simulated.run import Run
from tailcut.engines.simulated.updates import updates
from tailcut.events import Command, Event
from tailcut.policy import Decider
from tailcut.table import Table
from tailcut.timeline import Timeline
from tailcut.types import FloatArray, RoundRecord, Seconds
from tailcut.work import Update


def replay(
    table: Table | Timeline,
    policy: Decider,
    *,
    late_finish: bool = False,
    overhead: Seconds = 0.0,
    acceptance: Acceptance = SYNCHRONOUS,
    micro: int = 1,
    sees_all: bool = False,
    rounds: int | None = None,
    watch: Callable[[Event, list[Command]], None] | None = None,
) -> Run:
    """Run a policy against recorded or sampled run times; arguments and errors as of `updates`.

    By default it closes no more rounds than the table has rows.

    Returns:
        One row per closed round.
    """
    stream = updates(
        table,
        policy,
        late_finish=late_finish,
        overhead=overhead,
        acceptance=acceptance,
        micro=micro,
        sees_all=sees_all,
        rounds=table.rounds if rounds is None else min(rounds, table.rounds),
        watch=watch,
    )
    return as_run(list(stream), table.workers, overhead, acceptance.refill)


def as_run(closed: list[Update], workers: int, overhead: Seconds, refill: bool) -> Run:
    """Return the arrays of a run's updates.

    Args:
        closed: all updates of the run.
        workers: columns of the table.
        overhead: seconds between a close and the next opening.
        refill: whether a worker starts another mini-batch as soon as it arrived.
    """
    records = [update.record for update in closed]
    accepted = np.zeros((len(records), workers), dtype=np.bool_)
    idle = np.zeros(len(records))
    for t, record in enumerate(records):
        accepted[t, record.roster.workers[record.accepted > 0]] = True
        # A worker that starts another mini-batch at once is never idle.
        idle[t] = 0.0 if refill else record_idle(record)
    return Run(
        # A round that was tried again has lasted since its first opening.
        elapsed=np.array([u.record.elapsed + (u.record.opened - u.opened) for u in closed]),
        counts=np.array([r.count for r in records], dtype=np.int64),
        values=np.array([r.value for r in records]),
        accepted=accepted,
        idle=idle,
        present=np.array([len(r.roster) for r in records], dtype=np.int64),
        overhead=overhead,
        staleness=np.concatenate([r.staleness for r in records]) if records else np.empty(0, dtype=np.int64),
        opened=np.array([update.opened for update in closed]),
        weights=_weights(records),
    )


def _weights(records: list[RoundRecord]) -> dict[str, FloatArray]:
    """Return `(rounds,)` the weight of each part of the forecasts; NaN in rounds without a forecast."""
    by_round = [dict(record.weights) for record in records]
    names = dict.fromkeys(name for weights in by_round for name in weights)
    return {name: np.array([weights.get(name, np.nan) for weights in by_round]) for name in names}


def record_idle(record: RoundRecord) -> Seconds:
    """Return the seconds that the workers of a closed round waited for its close, added up."""
    waited = record.elapsed - record.arrivals[np.isfinite(record.arrivals)]
    return float(np.maximum(waited, 0.0).sum())
