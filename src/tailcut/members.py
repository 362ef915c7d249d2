"""The workers of a run, what each works on, and the run times of work that outlived its round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tailcut.events import Arrived, Settle
from tailcut.ledger import is_run_time
from tailcut.types import Fate, Roster, RunTimes, Seconds, WorkerId


@dataclass(slots=True)
class Member:
    """A worker that is present. `version` is the one it works on, None while it is free."""

    node: int
    version: int | None = None
    since: Seconds = 0.0


@dataclass(slots=True)
class Members:
    """The workers that are present, arrivals between two rounds, and run times of older work that ended."""

    _there: dict[WorkerId, Member] = field(default_factory=dict)
    _held: list[Arrived] = field(default_factory=list)
    _reports: dict[WorkerId, tuple[int, Seconds, bool]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._there)

    def __contains__(self, worker: WorkerId) -> bool:
        return worker in self._there

    def __getitem__(self, worker: WorkerId) -> Member:
        return self._there[worker]

    def get(self, worker: WorkerId) -> Member | None:
        """Return the member, or None if no worker with that id is present."""
        return self._there.get(worker)

    def join(self, worker: WorkerId, node: int) -> None:
        """Add a worker, which is free."""
        self._there[worker] = Member(node)

    def start(self, workers: Sequence[WorkerId], version: int, now: Seconds) -> None:
        """Record that workers begin on a version."""
        for worker in workers:
            member = self._there[worker]
            member.version, member.since = version, now

    def leave(
        self, worker: WorkerId, now: Seconds, version: int | None
    ) -> tuple[Member | None, list[Settle]]:
        """Remove a worker.

        Args:
            worker: its id.
            now: the clock's seconds.
            version: version of the open round, None if none is open.

        Returns:
            The member, None if it was not present; and the fates of its gradients of other versions.
        """
        member = self._there.pop(worker, None)
        if member is None:
            return None, []
        settled = [self.settle(event, member, Fate.LATE) for event in self._held if event.worker == worker]
        self._held = [event for event in self._held if event.worker != worker]
        if member.version is not None and member.version != version:
            settled.append(Settle(worker, member.version, Fate.LOST, now - member.since))
            self._report(worker, member.node, now - member.since, False)
        return member, settled

    def hold(self, event: Arrived) -> None:
        """Keep an arrival for which no round is open."""
        self._held.append(event)

    def take_held(self) -> list[Arrived]:
        """Return and clear the arrivals that were kept, oldest first."""
        held, self._held = self._held, []
        return held

    def free(self) -> list[WorkerId]:
        """Return the ids of the workers that work on nothing, increasing."""
        return [worker for worker, member in sorted(self._there.items()) if member.version is None]

    def at_work(self, worker: WorkerId) -> bool:
        """Return whether the worker is present and works on a gradient."""
        member = self._there.get(worker)
        return member is not None and member.version is not None

    def roster(self, now: Seconds) -> Roster:
        """Return the roster of all workers present, for a round that opens at `now`."""
        ids = sorted(self._there)
        members = [self._there[worker] for worker in ids]
        busy = [np.nan if m.version is None else now - m.since for m in members]
        nodes = np.array([m.node for m in members], dtype=np.int64)
        return Roster(np.array(ids, dtype=np.int64), nodes, np.array(busy, dtype=np.float64))

    def settle(self, event: Arrived, member: Member, fate: Fate) -> Settle:
        """Report the run time of an arrival outside its round, and return its fate."""
        self._report(event.worker, member.node, event.run_time, event.share >= 1.0)
        return Settle(event.worker, event.version, fate, event.run_time)

    def take_reports(self) -> tuple[RunTimes, ...]:
        """Return and clear the reports since the last call, as one record or none."""
        batch, self._reports = self._reports, {}
        if not batch:
            return ()
        ids = sorted(batch)
        late = RunTimes(
            workers=np.array(ids, dtype=np.int64),
            seconds=np.array([batch[w][1] for w in ids], dtype=np.float64),
            observed=np.array([batch[w][2] for w in ids], dtype=np.bool_),
            nodes=np.array([batch[w][0] for w in ids], dtype=np.int64),
            late=True,
        )
        return (late,)

    def _report(self, worker: WorkerId, node: int, seconds: Seconds, observed: bool) -> None:
        """Keep the run time of older work that has ended: the record of its round does not hold it."""
        if is_run_time(seconds):
            # A worker has at most one piece of old work, so this never replaces another report.
            self._reports[worker] = (node, seconds, observed)
