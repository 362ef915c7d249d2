"""Versions at which all workers meet, so that a script's own collectives match up.

A worker that is late skips versions, but none beyond the newest: if the round of a version waits for all
workers, each of them is at that version once. A script asks with `opt.every(k)`, so that the controller knows
before any worker arrives at a version that k divides; a loop over epochs asks with the number of updates in
an epoch.
"""

from __future__ import annotations

from typing import Any, final

from tailcut.engines.live.controller.words import workers
from tailcut.policy import Decider, PolicyState, PolicyWrapper
from tailcut.types import Decision, Progress, RoundRecord, RunTimes, Seconds, Wait, WorkerId


@final
class Meetings:
    """The versions at which workers meet.

    Attributes:
        version: version of the open round.

    Example:
        >>> meetings = Meetings()
        >>> meetings.ask(10)
        >>> meetings.at(20), meetings.at(25)
        (True, False)
    """

    def __init__(self) -> None:
        self.version = 0
        self._every: set[int] = set()
        self._loops: dict[WorkerId, tuple[int, int]] = {}

    def __len__(self) -> int:
        """Return how many intervals were asked for."""
        return len(self._every)

    def __contains__(self, every: int) -> bool:
        """Return whether this interval was asked for."""
        return every in self._every

    def ask(self, every: int) -> None:
        """Make workers meet at every version that this number divides."""
        self._every.add(every)

    def loop(self, worker: WorkerId, updates: int, epochs: int) -> str | None:
        """Note the loop over epochs of a worker; return why it does not go with those of the others, if so.

        Args:
            worker: worker whose script has the loop.
            updates: updates in an epoch.
            epochs: epochs in the loop.

        Example:
            >>> meetings = Meetings()
            >>> meetings.loop(0, 40, 5), meetings.loop(1, 40, 5), bool(meetings.loop(2, 39, 5))
            (None, None, True)
        """
        self._loops[worker] = (updates, epochs)
        alike: dict[tuple[int, int], list[WorkerId]] = {}
        for who, loop in sorted(self._loops.items()):
            alike.setdefault(loop, []).append(who)
        if len(alike) == 1:
            return None
        said = ", ".join(f"{e} of {u} updates at {workers(who)}" for (u, e), who in alike.items())
        return (
            f"The workers do not agree on their epochs: {said}. Give opt.epochs() the same number everywhere, and "
            "updates=… where the loaders have different lengths."
        )

    def forget(self, worker: WorkerId) -> None:
        """Forget the loop of a worker."""
        self._loops.pop(worker, None)

    def at(self, version: int) -> bool:
        """Return whether workers meet at this version."""
        return any(version % every == 0 for every in self._every)


@final
class Meets(PolicyWrapper):
    """A policy, except where workers meet: that round waits for all, and nothing is learned from it.

    What scripts do there (evaluate, save, reduce something) is not the work whose run times are forecast.
    """

    def __init__(self, inner: Decider, meetings: Meetings) -> None:
        super().__init__(inner)
        self._meetings = meetings
        self._held: tuple[RunTimes, ...] = ()

    def decide(self, plan: Any, progress: Progress) -> Decision:
        """Return to wait for all at a meeting; otherwise the decision of the inner policy."""
        return Wait() if self._meetings.at(self._meetings.version) else self.inner.decide(plan, progress)

    def worth_starting(self, plan: Any, position: int, elapsed: Seconds) -> bool:
        """Return whether a worker should still begin: always at a meeting, otherwise by the inner policy."""
        meets = self._meetings.at(self._meetings.version)
        return meets or self.inner.worth_starting(plan, position, elapsed)

    def learn(
        self, state: PolicyState, plan: Any, record: RoundRecord, reports: tuple[RunTimes, ...]
    ) -> PolicyState:
        """Skip meetings; learn run times of older rounds that came during one with the next round."""
        reports, self._held = (*self._held, *reports), ()
        if self._meetings.at(record.version):
            self._held = reports
            return state
        return self.inner.learn(state, plan, record, reports)
