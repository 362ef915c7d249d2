"""Fetching updates that a worker has missed from any worker that holds them, or a whole state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil
from time import monotonic
from types import TracebackType
from typing import Any

import torch
import zmq

from tailcut.engines.live.data.connection import SEES_PROGRESS, Connection
from tailcut.engines.live.data.copying import MOST_STATE, copied
from tailcut.engines.live.data.pool import Pool
from tailcut.engines.live.data.search import Ahead, Hedge, PullError, Search, TooOldError, Wanted
from tailcut.engines.live.data.updates import MOST_HEAD, Update, UpdateError, read
from tailcut.engines.live.keys import Key
from tailcut.engines.live.messages import Copy, NotYet, Pull
from tailcut.engines.live.wire import BETWEEN_WORKERS, WireError
from tailcut.types import Seconds

__all__ = ["PullError", "Puller", "TooOldError", "Wanted"]

QUIET: Seconds = 0.2
"""Seconds without any data after which a holder is taken for one that stands still, and the next is asked too."""
PREPARED = 500e6
"""Bytes per second at which a holder prepares an answer, before it sends anything."""
SLOWEST = 50e6
"""Bytes per second of the slowest network without double requests, where the system tells no progress."""
AGAIN: Seconds = 5.0
"""Seconds without any data after which a holder is asked again: the request may have been lost."""
AHEAD = 8
"""Updates asked for before they are needed: one at a time would take a round trip each."""
PAUSE: Seconds = 0.02
"""Seconds before a holder is asked again that could not be reached, or did not have the update."""
LOOK_UP: Seconds = 0.01
"""Seconds between two looks at whether an update is still wanted, while it does not come."""


class Puller:
    """A client that fetches updates in order and checks each. One thread at a time may use it.

    Args:
        length: number of elements of this net's vectors.
        dtype: type of these vectors.
        key: key of the run; None where it has none.
        quiet: seconds without any data after which the next holder is asked as well, beside the time to
            prepare an answer of this length.
    """

    def __init__(
        self, length: int, dtype: torch.dtype, key: Key | None = None, quiet: Seconds = QUIET
    ) -> None:
        self._pool, self._key = Pool(length, dtype), key
        self._most_bytes = max(MOST_HEAD, length * dtype.itemsize)
        self._quiet = quiet + self._most_bytes / (PREPARED if SEES_PROGRESS else SLOWEST)
        self._context = zmq.Context(1)
        self._connections: dict[str, Connection] = {}
        # Updates that came before their turn, by holder and version.
        self._early: dict[tuple[str, int], Update] = {}

    def pull(
        self,
        wanted: Wanted,
        holders: Mapping[int, str],
        timeout: Seconds,
        enough: Callable[[], bool] = lambda: False,
    ) -> Iterator[Update]:
        """Yield the updates one after another; the next is on its way while one is applied.

        Args:
            wanted: the updates to fetch.
            holders: addresses by worker, in the order to ask them. One is asked, and the next one as well when that one
                is broken, does not have the update, or sends nothing for a while; the first valid answer counts.
            timeout: seconds for each update.
            enough: returns whether nothing more is wanted, which ends the pull; called while no update comes.

        Raises:
            PullError: if no holder has one of them, or none answers in time.
            TooOldError: if no holder keeps it any more.
        """
        chain, order = wanted.chain, dict(holders)
        self._early.clear()
        ahead = Ahead()
        for version in wanted.versions:
            asked = Pull(wanted.term, wanted.epoch, version)
            first = ahead.holder if version <= ahead.newest else None
            search = Search(asked, chain, monotonic() + timeout, dict(order), first)
            found = self._fetch(search, wanted.versions, enough)
            if found is None:
                if ahead.holder is not None:
                    self._forget(order[ahead.holder])
                return
            holder, update = found
            # The holder that sent this one is asked first, and already now, for the next ones.
            chain, order = update.chain, {holder: order[holder], **order}
            if holder != ahead.holder:
                if ahead.holder is not None:
                    self._forget(order[ahead.holder])
                ahead = Ahead(holder, version)
            for following in range(ahead.newest + 1, min(version + AHEAD, wanted.versions[-1]) + 1):
                if not self._connection(order[holder]).ask(Pull(wanted.term, wanted.epoch, following)):
                    break
                ahead = Ahead(holder, following)
            yield update

    def copy(
        self,
        address: str,
        asked: Copy,
        timeout: Seconds,
        enough: Callable[[], bool],
        most_bytes: int = MOST_STATE,
    ) -> Any:
        """Return the state of a holder, as soon as it offers it; None where it is not wanted any more.

        Args:
            address: address of the holder.
            asked: the request, with the version.
            timeout: longest wait, in seconds.
            enough: returns whether nothing more is wanted; called again and again.
            most_bytes: most bytes that the state can have.

        Raises:
            PullError: the holder did not give it in time.
            CopyError: what it gave is no state.
        """
        connection = Connection(self._context, address, self._key, most_bytes, is_queued=True)
        try:
            return copied(connection.socket, asked, timeout, enough, most_bytes)
        finally:
            connection.close()

    def close(self) -> None:
        """Drop all connections."""
        for each in self._connections.values():
            each.close()
        self._connections.clear()
        self._context.term()

    def __enter__(self) -> Puller:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _fetch(
        self, search: Search, versions: range, enough: Callable[[], bool]
    ) -> tuple[int, Update] | None:
        """Return one update, and the worker that had it; None where it is not wanted any more."""
        hedge = Hedge(search.order, self._quiet, PAUSE, AGAIN)
        for worker in search.order:
            early = self._early.pop((search.holders[worker], search.asked.version), None)
            if early is not None and search.judge(worker, early) is not None:
                return worker, early
        received: dict[int, int] = {}
        while search.holders and search.left > 0:
            self._ask(search, hedge, received, monotonic())
            for worker in hedge.asked:
                update = self._answer(search, worker, hedge)
                if update is not None:
                    self._forget_losers(search, hedge, worker)
                    return worker, update
            # The last holder may be gone. An answer that is on its way is awaited: it may take long.
            if not hedge.is_receiving(monotonic()) and enough():
                self._forget_losers(search, hedge)
                return None
            self._wait(search, hedge)
        self._forget_losers(search, hedge)
        raise search.error(versions)

    def _ask(self, search: Search, hedge: Hedge, received: dict[int, int], now: Seconds) -> None:
        """Ask the holders whose turn it is. Those that cannot be reached are passed over at once."""
        self._see_to(search, hedge, received, now)
        while True:
            asked = hedge.asked
            worker = hedge.next(now)
            if worker is None:
                return
            if worker in asked:
                # It has said nothing for so long that the request, or the answer, must be lost.
                self._connection(search.holders[worker]).pending.discard(search.asked.version)
            self._see_to(search, hedge, received, now)

    def _see_to(self, search: Search, hedge: Hedge, received: dict[int, int], now: Seconds) -> None:
        """Send the request to the asked holders, if not sent; note which are broken, and which send data."""
        for worker in hedge.asked:
            connection = self._connection(search.holders[worker])
            connection.look()
            is_asked = not connection.is_broken and connection.ask(search.asked)
            search.is_reached(worker, is_asked)
            if connection.is_broken:
                hedge.rests(worker, now)
            elif is_asked:
                many = connection.received
                if many > received.setdefault(worker, many):
                    received[worker] = many
                    hedge.receives(worker, now)

    def _answer(self, search: Search, worker: int, hedge: Hedge) -> Update | None:
        """Return the update, if a holder has sent it; ignore older answers, and keep later updates."""
        address, version = search.holders[worker], search.asked.version
        connection = self._connection(address)
        try:
            while (frames := connection.read()) is not None:
                found = self._read(frames)
                connection.pending.discard(found.version)
                if found.version == version:
                    update = search.judge(worker, found)
                    if update is None and worker in search.holders:
                        hedge.rests(worker, monotonic())
                    elif update is None:
                        hedge.drops(worker)
                    return update
                if isinstance(found, Update) and version < found.version <= version + AHEAD:
                    self._early[address, found.version] = found
        except (UpdateError, WireError) as problem:
            search.drop(worker, f"sent rubbish: {problem}")
            hedge.drops(worker)
        return None

    def _wait(self, search: Search, hedge: Hedge) -> None:
        """Wait until data comes, for `LOOK_UP` seconds at most."""
        poller = zmq.Poller()
        for worker in hedge.asked:
            connection = self._connection(search.holders[worker])
            poller.register(connection.socket, zmq.POLLIN)
            poller.register(connection.events, zmq.POLLIN)
        poller.poll(_milliseconds(min(LOOK_UP, search.left)))

    def _read(self, frames: Sequence[zmq.Frame]) -> Update | NotYet:
        if len(frames) == 2:
            head, raw = frames
            return read(head.bytes, raw.buffer, self._pool.take())
        if len(frames) > 2:
            raise WireError(f"An answer of {len(frames)} parts came; they have 1 or 2.")
        message = BETWEEN_WORKERS.read(frames[0].bytes)
        if not isinstance(message, NotYet):
            raise WireError(f"A {type(message).__name__} came in answer to a request.")
        return message

    def _connection(self, address: str) -> Connection:
        found = self._connections.get(address)
        if found is None:
            found = Connection(self._context, address, self._key, self._most_bytes)
            self._connections[address] = found
        return found

    def _forget_losers(self, search: Search, hedge: Hedge, winner: int | None = None) -> None:
        """Drop connections to the asked holders, but for one, whose answers under way are not needed."""
        for worker in hedge.asked:
            if worker != winner and self._connection(search.holders[worker]).pending:
                self._forget(search.holders[worker])

    def _forget(self, address: str) -> None:
        """Drop a connection."""
        connection = self._connections.pop(address, None)
        if connection is not None:
            connection.close()


def _milliseconds(patience: Seconds) -> int:
    return max(0, ceil(1000 * patience))
