"""Fetching updates a worker has missed from any worker that holds them, or a whole state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil
from time import monotonic, sleep
from types import TracebackType
from typing import Any

import torch
import zmq

from tailcut.engines.live.data.copying import MOST_STATE, copied
from tailcut.engines.live.data.pool import Pool
from tailcut.engines.live.data.search import Ahead, PullError, Search, TooOldError, Wanted
from tailcut.engines.live.data.updates import MOST_HEAD, Update, UpdateError, read
from tailcut.engines.live.keys import SEALED, Key, secured_client
from tailcut.engines.live.messages import Copy, NotYet, Pull
from tailcut.engines.live.wire import BETWEEN_WORKERS, WireError, encode
from tailcut.types import Seconds

__all__ = ["PullError", "Puller", "TooOldError", "Wanted"]

REACH: Seconds = 0.5
"""To connect to a holder."""
ANSWER: Seconds = 0.3
"""For a holder to answer before the next is asked, beside what the way takes: it may stand still. An answer that comes
later is taken when its turn comes again."""
SLOWEST = 50e6
"""Bytes per second of a way on which that much is not counted twice."""
AHEAD = 8
"""Updates asked for before they are needed: one at a time would take a way there and back each."""
PAUSE: Seconds = 0.01
"""Before all holders are asked again."""


class Puller:
    """Fetches updates, in order, each checked. For one thread at a time.

    Args:
        length: of this net's vectors.
        dtype: of theirs.
        key: of the run; None where it has none.
    """

    def __init__(self, length: int, dtype: torch.dtype, key: Key | None = None) -> None:
        self._pool, self._key = Pool(length, dtype), key
        self._most_bytes = max(MOST_HEAD, length * dtype.itemsize)
        self._answer_in = ANSWER + self._most_bytes / SLOWEST
        self._context = zmq.Context(1)
        self._sockets: dict[str, zmq.Socket[bytes]] = {}
        # Updates that came before their turn, by holder and version.
        self._early: dict[tuple[str, int], Update] = {}

    def pull(
        self,
        wanted: Wanted,
        holders: Mapping[int, str],
        timeout: Seconds,
        enough: Callable[[], bool] = lambda: False,
    ) -> Iterator[Update]:
        """The updates one after another; the next is on its way while one is applied.

        Args:
            wanted: which.
            holders: addresses by worker, in the order to ask them.
            timeout: seconds for each update.
            enough: whether nothing more is wanted; asked when no holder has an update, and ends the pull.

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
                self._forget(order, ahead.holder)
                return
            holder, update = found
            # Who had this one is asked first, and already now, for the next ones.
            chain, order = update.chain, {holder: order[holder], **order}
            if holder != ahead.holder:
                self._forget(order, ahead.holder)
                ahead = Ahead(holder, version)
            for following in range(ahead.newest + 1, min(version + AHEAD, wanted.versions[-1]) + 1):
                if not self._ask(order[holder], Pull(wanted.term, wanted.epoch, following), 0.0):
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
        """The state of a holder, as soon as it offers it; None where it is not wanted any more.

        Args:
            address: of the holder.
            asked: for which version.
            timeout: seconds.
            enough: whether nothing more is wanted; asked again and again.
            most_bytes: that it can have.

        Raises:
            PullError: the holder did not give it in time.
            CopyError: what it gave is no state.
        """
        with self._context.socket(zmq.DEALER) as line:
            self._connect(line, address, most_bytes)
            return copied(line, asked, timeout, enough, most_bytes)

    def close(self) -> None:
        """Drop all connections."""
        for each in self._sockets.values():
            each.close(0)
        self._sockets.clear()
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
        """One update, and who had it; None where it is not wanted any more."""
        while search.holders and search.left > 0:
            for worker in tuple(search.holders):
                update = self._try(search, worker)
                if update is not None:
                    return worker, update
            if enough():
                return None
            sleep(min(PAUSE, max(0.0, search.left)))
        raise search.error(versions)

    def _try(self, search: Search, worker: int) -> Update | None:
        """Ask one holder; it has its share of the time that is left."""
        address, patience = search.holders[worker], min(search.left / len(search.holders), self._answer_in)
        asked_already, search.ahead = worker == search.ahead, None
        if not asked_already and not self._ask(address, search.asked, min(patience, REACH)):
            search.said[worker] = "cannot be reached"
            return None
        try:
            answer = self._answer(address, search.asked.version, monotonic() + patience)
        except (UpdateError, WireError) as problem:
            search.drop(worker, f"sent rubbish: {problem}")
            return None
        return search.judge(worker, answer)

    def _ask(self, address: str, asked: Pull, patience: Seconds) -> bool:
        """Send a request, if the holder can be reached."""
        connection = self._connection(address)
        if not connection.poll(_milliseconds(patience), zmq.POLLOUT):
            return False
        connection.send(encode(asked))
        return True

    def _answer(self, address: str, version: int, until: Seconds) -> Update | NotYet | None:
        """What a holder answers about a version; answers to older requests are passed over, later updates are kept."""
        early = self._early.pop((address, version), None)
        if early is not None:
            return early
        connection = self._connection(address)
        while connection.poll(_milliseconds(until - monotonic())):
            found = self._read(connection.recv_multipart(copy=False))
            if found.version == version:
                return found
            if isinstance(found, Update) and version < found.version <= version + AHEAD:
                self._early[address, found.version] = found
        return None

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

    def _connection(self, address: str) -> zmq.Socket[bytes]:
        found = self._sockets.get(address)
        if found is None:
            found = self._sockets[address] = self._context.socket(zmq.DEALER)
            found.setsockopt(zmq.IMMEDIATE, 1)  # only a holder that is there can be written to
            self._connect(found, address, self._most_bytes)
        return found

    def _connect(self, line: zmq.Socket[bytes], address: str, most_bytes: int) -> None:
        secured_client(line, self._key)
        line.setsockopt(zmq.LINGER, 0)
        line.setsockopt(zmq.IPV6, int("[" in address))
        line.setsockopt(zmq.MAXMSGSIZE, most_bytes + SEALED)
        line.setsockopt(zmq.RCVHWM, 2 * AHEAD)
        line.connect(address)

    def _forget(self, order: Mapping[int, str], holder: int | None) -> None:
        """Drop a connection with answers under way that nobody waits for any more."""
        connection = None if holder is None else self._sockets.pop(order[holder], None)
        if connection is not None:
            connection.close(0)


def _milliseconds(patience: Seconds) -> int:
    return max(0, ceil(1000 * patience))
