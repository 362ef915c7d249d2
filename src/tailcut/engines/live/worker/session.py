"""A worker's part in one run, from its start to its end: what is opened here is closed here."""

from __future__ import annotations

import atexit
import json
import math
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from weakref import WeakSet

from torch._C._distributed_c10d import PrefixStore

from tailcut.engines.live.data.buffer import FlatBuffer
from tailcut.engines.live.data.group import Group, mesh
from tailcut.engines.live.data.local import locality
from tailcut.engines.live.data.log import UpdateLog
from tailcut.engines.live.data.pulling import Puller
from tailcut.engines.live.data.serving import UpdateServer
from tailcut.engines.live.descriptors import raise_limit
from tailcut.engines.live.hosting import host_folder
from tailcut.engines.live.keys import found_key
from tailcut.engines.live.messages import BROADCAST, Hello, New
from tailcut.engines.live.worker.alike import alike, described
from tailcut.engines.live.worker.checks import shares_memory
from tailcut.engines.live.worker.inbox import RunError
from tailcut.engines.live.worker.joining import Own
from tailcut.engines.live.worker.keeping import Keeping
from tailcut.engines.live.worker.link import Link
from tailcut.engines.live.worker.member import Member
from tailcut.engines.live.worker.parts import Parts
from tailcut.engines.live.worker.replica import Replica
from tailcut.engines.live.worker.start import Start, started
from tailcut.engines.live.worker.uncaught import mind_uncaught
from tailcut.engines.live.worker.whereabouts import Whereabouts
from tailcut.errors import InputError, ParameterError
from tailcut.types import Seconds

PATIENCE: Seconds = 5.0
"""Longest time that other workers have to pull the updates of a failing one, in seconds."""


class Session:
    """A worker's part in one run, until it is closed.

    Args:
        replica: parameters and optimizer to train.
        ask: settings of the controller.
        settings: further settings that must be the same everywhere, in words.
        log_bytes: bytes of updates that are kept for other workers.
        kept: folder of checkpoints (None for none), how many updates from one to the next, and how many stay.
        noise_of: prefix of the parameter names used to estimate the gradient noise scale.
        initial: what happens where workers begin with different values: `broadcast` or `compare`.

    Attributes:
        member: this worker.
        left: whether it has left the run.
        folder: absolute path of the folder of checkpoints; None for none.
    """

    def __init__(
        self,
        replica: Replica,
        ask: Start,
        settings: str,
        log_bytes: int,
        kept: tuple[str | None, int, int] = (None, 100, 3),
        noise_of: str = "",
        initial: str = BROADCAST,
    ) -> None:
        mind_uncaught()
        raise_limit()
        self.left = self._is_free = self._is_closed = False
        self.folder = None if kept[0] is None else Path(kept[0]).absolute()
        check_folder(self.folder, _sessions)
        self._ask = ask
        scatter = noise_of if ask.rate == "gain" else None
        self._flat = FlatBuffer(replica.module, scatter, shares_memory(), replica.parameters)
        self._log = UpdateLog(most_bytes=log_bytes)
        # Before a checkpoint is loaded, which sets the learning rates to where a schedule has come to.
        self._given = described(replica.optimiser, replica.module)
        self._keeping = Keeping(Own(replica, self._flat, self._log), *kept, ask.total)
        self._start = started(ask)
        try:
            self._keeping.check(self._start.is_under_way)
        except InputError:
            self._start.end(at_once=True)
            raise
        key, layout = found_key(), self._flat.layout
        self._server = UpdateServer(self._log, self._start.host, key=key, where=Whereabouts())
        self._link = Link(self._start.controller, key=key)
        self._puller = Puller(layout.length, layout.dtype, key=key)
        parts = Parts(
            self._link, replica, self._flat, self._log, self._puller, self._keeping, self._server.offer
        )
        atexit.register(self._at_exit)
        try:
            hello = self._hello(replica, settings, initial)
            self.member = Member(parts, hello, self._mesh, ask.max_wait, ask.total)
        except BaseException:
            self.left = True
            self._dismantle(at_once=True)
            raise
        self._start.note_begun()
        _sessions.add(self)

    @property
    def position(self) -> int:
        """Return how many gradients of this worker are in updates: its place in its data."""
        return self._log.positions.of(self.member.worker)

    @property
    def is_alone(self) -> bool:
        """Return whether this is the only worker of the run."""
        return self._start.workers == 1

    def loop(self, updates: int, epochs: int, total: int) -> None:
        """Prepare for a loop over epochs: all workers meet at the end of each.

        Args:
            updates: updates in an epoch.
            epochs: epochs in the loop.
            total: version at which the run ends.
        """
        self.member.meet(updates, epochs)
        self.member.end_at(total)
        self._keeping.loop(updates, total)

    def between_epochs(self) -> None:
        """Write the checkpoint that was delayed until the script's work between two epochs was done."""
        self._keeping.between_epochs()

    def agree(self, where: str, value: Any) -> Any:
        """Return the value that the first worker has given at this place of the script.

        Args:
            where: the place in the script, the same at every worker.
            value: the value to use if this worker is the first; anything that JSON can express.

        Raises:
            ParameterError: JSON cannot express it.
            RunError: the process that held the store has ended.
        """
        try:
            said = json.dumps(value)
        except (TypeError, ValueError):
            raise ParameterError(
                "Workers can agree on numbers, text, True, False, None, and lists and dictionaries of these, but got "
                f"{value!r}. Of a tensor with one number give .item()."
            ) from None
        try:
            return json.loads(self._start.store.compare_set(f"agreed {where}", "", said))
        except RuntimeError as problem:
            why = str(problem).splitlines()[0].rstrip(".")
            raise RunError(f"The workers cannot agree: {why}. See whether worker 0 has ended.") from problem

    def leave(self, over: bool) -> None:
        """Leave the run.

        Args:
            over: whether the run has ended: then wait until no worker needs this one any more.
        """
        if self.left:
            return
        self.left = True
        self._flat.restore()
        self.member.leave()
        if over or self.is_alone:
            self._is_free = self.member.until_free(math.inf, as_it_left=True)

    def close(self, over: bool) -> None:
        """Leave the run, unless this worker has left, and close what was opened for it if the run has ended.

        Args:
            over: whether the run has ended. Otherwise others may need what this worker holds: it goes on
                serving them until the process ends.
        """
        self.leave(over)
        if (over or self.is_alone) and not self._is_closed:
            if self._is_free:
                self._keeping.confirmed(self.member.version)
            self._dismantle()

    def let_go(self) -> None:
        """End the run of a single worker, and its controller, as the script has dropped the optimizer."""
        # Python may free the optimizer in any thread, at any moment; the connections are the main thread's.
        if not self._is_closed and threading.current_thread() is threading.main_thread():
            self._at_exit()

    def _at_exit(self) -> None:
        error = getattr(sys, "last_value", None)
        if not self.left:
            self.left = True
            self.member.leave()
        if not self._is_free:
            self.member.until_free(math.inf if error is None else self._patience, as_it_left=False)
        self._dismantle(at_once=error is not None)

    @property
    def _patience(self) -> Seconds:
        """Return the seconds that a failing worker serves others: its parent process must soon see it end.

        A launcher stops the others too, so that they need nothing any more: the time is 0 then.
        """
        return 0.0 if host_folder() is not None else min(PATIENCE, self._ask.max_wait)

    def _dismantle(self, at_once: bool = False) -> None:
        self._is_closed = True
        atexit.unregister(self._at_exit)
        self._keeping.close()
        self._link.close()
        self._puller.close()
        self._server.close()
        self._start.end(at_once)

    def _hello(self, replica: Replica, settings: str, initial: str) -> Hello:
        ask, start = self._ask, self._start
        asked = f"policy={ask.policy} rate={ask.rate} late={ask.late} total={ask.total} min_workers={ask.min_workers}"
        return Hello(
            term=1,
            epoch=0,
            worker=start.worker,
            workers=start.workers,
            host=start.host,
            process=start.process,
            node=start.node,
            address=self._server.address,
            version=self._log.version,
            chain=self._log.chain,
            alike=alike(replica.module, replica.optimiser, f"{asked} {settings}", self._given, initial),
            local=locality(start.host) if self._flat.is_shared else "",
        )

    def _mesh(self, new: New, place: int) -> Group:
        store = PrefixStore(f"term {new.term} epoch {new.epoch}", self._start.store)
        where = (store, place, len(new.members), self._ask.max_wait, self._start.host)
        try:
            # Workers that still compute are not waited for, except in the first epoch.
            return mesh(*where, lazy=(new.term, new.epoch) > (1, 1), is_local=new.is_local)
        except (RuntimeError, OSError) as problem:
            why = str(problem).splitlines()[0].rstrip(".")
        raise RunError(
            f"This worker could not be connected with all others: {why}. See whether one of them has ended."
        )


_sessions: WeakSet[Session] = WeakSet()
"""The runs of this process: a script may wrap several optimizers."""


def check_folder(folder: Path | None, sessions: Iterable[Session]) -> None:
    """Refuse a folder in which two optimizers of one script would replace each other's checkpoints.

    Args:
        folder: absolute path of the folder of checkpoints; None for none.
        sessions: the other sessions of this process.

    Raises:
        ParameterError: one of them has this folder, and has not left its run.
    """
    if folder is not None and any(each.folder == folder and not each.left for each in sessions):
        raise ParameterError(
            f"Another optimizer of this script keeps its checkpoints in {str(folder)!r}. Give each its own folder, or "
            "close() the other one first."
        )
