"""A worker's part in one run, from its start to its end: what is opened here is closed here."""

from __future__ import annotations

import atexit
import math
import sys

from torch._C._distributed_c10d import PrefixStore

from tailcut.engines.live.data.buffer import FlatBuffer
from tailcut.engines.live.data.group import Group, mesh
from tailcut.engines.live.data.log import UpdateLog
from tailcut.engines.live.data.pulling import Puller
from tailcut.engines.live.data.serving import UpdateServer
from tailcut.engines.live.keys import found_key
from tailcut.engines.live.messages import Hello
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
from tailcut.errors import InputError
from tailcut.types import Seconds

PATIENCE: Seconds = 5.0
"""For others to take what a failing worker holds."""


class Session:
    """In the run, until it is closed.

    Args:
        replica: what is trained.
        ask: of the controller.
        settings: that must be the same everywhere, in words.
        log_bytes: of updates that are kept for others.
        kept: folder of checkpoints (None for none), how many updates from one to the next, and how many stay.
        noise_of: what the names of parameters begin with whose gradients tell the noise scale.

    Attributes:
        member: this worker.
        left: whether it has left the run.
    """

    def __init__(
        self,
        replica: Replica,
        ask: Start,
        settings: str,
        log_bytes: int,
        kept: tuple[str | None, int, int] = (None, 100, 3),
        noise_of: str = "",
    ) -> None:
        self.left = False
        self._ask = ask
        self._flat = FlatBuffer(replica.module, noise_of if ask.rate == "gain" else None, shares_memory())
        self._log = UpdateLog(most_bytes=log_bytes)
        # Before a checkpoint is loaded, which sets the learning rates to where a schedule has come to.
        self._given = described(replica.optimiser)
        self._keeping = Keeping(Own(replica, self._flat, self._log), *kept, ask.total)
        self._start = started(ask)
        try:
            self._keeping.check(self._start.is_under_way)
        except InputError:
            self._start.end(at_once=True)
            raise
        key, layout = found_key(), self._flat.layout
        self._server = UpdateServer(self._log, self._start.host, key=key)
        self._link = Link(self._start.controller, key=key)
        self._puller = Puller(layout.length, layout.dtype, key=key)
        parts = Parts(
            self._link, replica, self._flat, self._log, self._puller, self._keeping, self._server.offer
        )
        atexit.register(self._at_exit)
        try:
            self.member = Member(parts, self._hello(replica, settings), self._mesh, ask.max_wait, ask.total)
        except BaseException:
            self.left = True
            self._dismantle(at_once=True)
            raise
        self._start.note_begun()

    @property
    def position(self) -> int:
        """Of this worker in its data."""
        return self._log.positions.of(self.member.worker)

    def close(self, over: bool) -> None:
        """Leave the run.

        Args:
            over: whether it has ended: then wait until all have left. Otherwise others may need what this worker
                holds, and it goes on serving them until the process ends.
        """
        if self.left:
            return
        self.left = True
        self._flat.restore()
        self.member.leave()
        if over:
            self.member.until_free(math.inf, as_it_left=True)
            self._dismantle()

    def _at_exit(self) -> None:
        error = getattr(sys, "last_value", None)
        if not self.left:
            self.left = True
            self.member.leave()
        # After an error whoever started this process shall soon know of it.
        patience = math.inf if error is None else min(PATIENCE, self._ask.max_wait)
        self.member.until_free(patience, as_it_left=False)
        self._dismantle(at_once=error is not None)

    def _dismantle(self, at_once: bool = False) -> None:
        atexit.unregister(self._at_exit)
        self._keeping.close()
        self._link.close()
        self._puller.close()
        self._server.close()
        self._start.end(at_once)

    def _hello(self, replica: Replica, settings: str) -> Hello:
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
            alike=alike(replica.module, replica.optimiser, f"{asked} {settings}", self._given),
        )

    def _mesh(self, term: int, epoch: int, place: int, size: int) -> Group:
        store = PrefixStore(f"term {term} epoch {epoch}", self._start.store)
        try:
            # Whoever computes is not kept waiting for, except at the beginning.
            return mesh(store, place, size, self._ask.max_wait, self._start.host, lazy=epoch > 1)
        except RuntimeError as problem:
            why = str(problem).splitlines()[0].rstrip(".")
        raise RunError(
            f"This worker could not be connected with all others: {why}. See whether one of them has ended."
        )
