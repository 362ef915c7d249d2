"""The updates of a policy on given run times, computed once for all trainings that use them."""

from __future__ import annotations

from collections.abc import Iterator

from tailcut.engines.simulated import Jobs, Updates, updates
from tailcut.engines.simulated.fixed import fixed_updates
from tailcut.study.contest import Entrant
from tailcut.study.source import Draw
from tailcut.work import Update


class Schedule:
    """Updates that do not depend on gradients: each is kept when it is first requested.

    Args:
        stream: updates of a policy that only counts gradients.
    """

    def __init__(self, stream: Updates) -> None:
        self._stream: Iterator[Update] = iter(stream)
        self._done: list[Update] = []

    def again(self) -> Updates:
        """Yield all updates from the first on; values that are sent back are ignored."""
        place = 0
        while True:
            if place == len(self._done):
                following = next(self._stream, None)
                if following is None:
                    return
                self._done.append(following)
            yield self._done[place]
            place += 1


def stream_of(entrant: Entrant, draw: Draw, late_finish: bool, jobs: Jobs | None = None) -> Updates:
    """Return the updates of a policy on drawn run times, to the end of the table.

    Args:
        entrant: the policy.
        draw: run times.
        late_finish: whether late workers finish their work first.
        jobs: chooses the mini-batch of each piece of work; by default the one of its row.
    """
    fixed = entrant.policy.rule.fixed_count(draw.table.workers)
    plain = entrant.whole_and_fresh and draw.table.whole and not late_finish and jobs is None
    if fixed is not None and plain:
        return fixed_updates(draw.table, fixed, draw.overhead)
    return updates(
        draw.table,
        entrant.policy,
        late_finish=late_finish,
        overhead=draw.overhead,
        acceptance=entrant.acceptance,
        micro=entrant.policy.micro,
        sees_all=entrant.policy.sees_all,
        jobs=jobs,
    )


def looks_at_gradients(entrant: Entrant) -> bool:
    """Return whether a policy's decisions depend on gradients, so that each training has its own schedule."""
    return entrant.policy.rule.objective_name != "count"
