"""Look at a running controller: what each worker does, and since when."""

from __future__ import annotations

from typing import final

from tailcut.engines.live.controller.hub import Hub
from tailcut.engines.live.controller.places import Place
from tailcut.engines.live.records.asked import Taker
from tailcut.engines.live.records.now import Now, WorkerNow
from tailcut.engines.live.records.tally import Share, Tally
from tailcut.types import Seconds, WorkerId


@final
class Looking:
    """One look after the other.

    Args:
        began: the clock's seconds when the controller began.
    """

    def __init__(self, began: Seconds) -> None:
        self._began = self._last = began
        self._since: dict[WorkerId, tuple[str, int, Seconds]] = {}

    def look(self, hub: Hub, tally: Tally, now: Seconds, written: Seconds, over: bool = False) -> Now:
        """How it stands at `now`; `written` is the same moment on the calendar's clock."""
        workers = tuple(self._worker(hub.places[worker], tally, now) for worker in hub.places.all)
        self._last = now
        return Now(
            written=written,
            running=now - self._began,
            version=hub.version,
            rounds=tally.rounds,
            cutoffs=tally.cutoffs,
            seconds_per_round=tally.seconds_per_round,
            gradients_per_second=tally.gradients_per_second,
            saved=tally.saved,
            unknown=tally.unknown,
            over=over or hub.over or hub.why is not None,
            why=hub.why,
            workers=workers,
        )

    def _worker(self, place: Place, tally: Tally, now: Seconds) -> WorkerNow:
        hello, doing = place.hello, place.doing.name.lower()
        share = tally.shares.get(hello.worker, Share())
        since = now - self._moment(hello.worker, doing, place, now)
        where = (hello.worker, hello.host, hello.process)
        return WorkerNow(*where, doing, place.version, max(since, 0.0), share.rounds, share.accepted)

    def _moment(self, worker: WorkerId, doing: str, place: Place, now: Seconds) -> Seconds:
        """Since when the worker does what it does. Most changes go with a message of its own."""
        known = self._since.get(worker)
        if known is None or known[:2] != (doing, place.version):
            moment = place.heard if self._last < place.heard else now
            known = self._since[worker] = (doing, place.version, moment)
        return known[2]


def takers(hub: Hub) -> tuple[Taker, ...]:
    """Who takes part."""
    hellos = [hub.places[worker].hello for worker in hub.places.all]
    return tuple(Taker(each.worker, each.host, each.process, each.node) for each in hellos)
