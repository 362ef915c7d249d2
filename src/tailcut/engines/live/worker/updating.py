"""The way of a worker to the next version: it makes the update with others, or pulls one made without it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from time import monotonic
from typing import final

from tailcut.engines.live.data.buffer import FlatBuffer
from tailcut.engines.live.data.log import UpdateLog
from tailcut.engines.live.data.pulling import Puller, TooOldError, Wanted
from tailcut.engines.live.data.reducing import ReduceError, reduce
from tailcut.engines.live.data.updates import Update
from tailcut.engines.live.descriptors import DescriptorWatch
from tailcut.engines.live.messages import Applied, Close
from tailcut.engines.live.points import at
from tailcut.engines.live.worker.keeping import Keeping, say
from tailcut.engines.live.worker.membership import Membership
from tailcut.engines.live.worker.replica import Replica
from tailcut.types import Seconds, WorkerId

COMPARE_EVERY = 100
"""Versions between two updates after which accepted workers also report a checksum of their parameters."""


@final
@dataclass(slots=True)
class Updating:
    """The updates of one worker.

    Attributes:
        replica, flat, log: what is updated.
        puller: fetches updates of others.
        keeping: the checkpoints of the run.
        membership: membership in the current epoch.
        max_wait: seconds to wait for an update.
        total: version at which the run ends; None for none.
        last: workers in the last update; empty where a state was copied since.
        watch: warns before the file descriptors run out.
    """

    replica: Replica
    flat: FlatBuffer
    log: UpdateLog
    puller: Puller
    keeping: Keeping
    membership: Membership
    max_wait: Seconds
    total: int | None
    last: tuple[WorkerId, ...] = ()
    watch: DescriptorWatch = field(init=False)

    def __post_init__(self) -> None:
        self.watch = DescriptorWatch(f"Worker {self.membership.worker}", say)

    def make(self, close: Close) -> Applied | None:
        """Reduce among the accepted workers, apply the result, and return the report; None if that failed.

        The packed gradient stays as it was, for another attempt.
        """
        version, members = self.replica.version, self.membership
        self.watch.look(monotonic())
        at("reducing", version)
        self.flat.stamp(close)
        reduced = self.flat.empty()
        (me,), places = members.places([members.worker]), members.places(close.accepted)
        group, failed = members.group, True
        if group is not None:
            try:
                what = (self.flat.source, reduced, close.version, members.new.silence)
                shared = self.flat.shared if members.are_of_one_machine(close.accepted) else None
                reduce(group, me, places, *what, lazy=members.is_lazy, shared=shared)
                failed = False
            except ReduceError:
                pass
        # No reference to the group may be left, or the others would wait for this worker.
        del group
        if failed:
            return None
        at("reduced", version)
        # The controller has compared the options of all that arrived: they are the same at every accepted worker.
        update = Update.made(close, reduced, self.log.chain, self.replica.groups.read())
        scatter = self.flat.scatter_in(reduced, len(close.accepted), update.samples)
        self._apply([update])
        self.log.forget(close.needed)
        compared = self.replica.version % COMPARE_EVERY == 0 or self.replica.version == self.total
        numbers = self.replica.digest() if compared else b""
        return Applied(*members.here, self.log.chain, numbers, scatter)

    def catch_up(self, version: int, newest: Close | None) -> bool:
        """Apply the updates made without this worker, up to a version or until the epoch is over.

        Print why and return False where the others do not keep all of them any more.

        Args:
            version: version to reach.
            newest: the `Close` of the round that made it, where that is known.
        """
        if version <= self.replica.version:
            return True
        new = self.membership.new
        wanted = Wanted(range(self.replica.version, version), self.log.chain, new.term, new.epoch)
        # A worker that made the newest update has all before it too.
        holders = self.membership.holders(newest.accepted if newest else (new.holder,))
        at("pulling", self.replica.version)
        try:
            self._apply(self.puller.pull(wanted, holders, self.max_wait, lambda: self.membership.is_called))
        except TooOldError as problem:
            say(str(problem))
            return False
        self.log.forget(newest.needed if newest else 0)
        return True

    def _apply(self, updates: Iterable[Update]) -> None:
        for update in updates:
            at("applying", self.replica.version)
            self.flat.unpack(update.flat, update.samples)
            self.replica.apply(update.scale, update.options)
            self.log.append(update)
            self.last = update.accepted
            self.keeping.made(self.membership.is_first)
            at("applied", self.replica.version, self.log.chain, update.accepted)
