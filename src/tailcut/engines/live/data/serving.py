"""A thread that gives updates of the log to workers that were late."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from math import ceil
from threading import Thread
from time import monotonic
from types import TracebackType
from typing import final

import zmq

# Imported now, not at the first answer: its exit handler must run after sessions', registered later.
import zmq.utils.garbage

from tailcut.engines.live.data.log import UpdateLog
from tailcut.engines.live.keys import Key, secured_server
from tailcut.engines.live.limits import BACKLOG, HANDSHAKE_MS, MOST_UNREAD, Limits
from tailcut.engines.live.messages import Copy, Here, NotYet, Pull, Where
from tailcut.engines.live.wire import BETWEEN_WORKERS, WireError, encode
from tailcut.errors import InputError
from tailcut.types import Seconds

MOST_REQUEST = 1 << 10
"""Most bytes of a request; a peer that sends more is disconnected."""
MOST_KEPT = 1 << 13
"""Most requests kept for updates to come."""
MOST_KEPT_EACH = 1 << 6
"""Most of these requests of one peer. Further ones are answered at once."""
MOST_AT_ONCE = 1 << 10
"""Most requests taken in before those that are kept are looked at again."""
MOST_WAITING = 1 << 5
"""Most answers that wait for one peer, more than it can have asked for; one that does not read loses more."""


@final
@dataclass(frozen=True, slots=True)
class _Kept:
    """A request for an update that is not there yet."""

    who: bytes
    asked: Pull
    until: Seconds


class UpdateServer:
    """A server: answers `Pull` by the update, `Copy` by the offered state, either by `NotYet`; and `Where`.

    A request for an update still to come is answered when it is logged, or with `NotYet` after `keep`
    seconds. The history behind a log does not change, so requests are answered whatever their term and epoch.

    Args:
        log: log to read from. It may grow in any thread.
        host: address of this machine, as the others see it; a free port of it is taken.
        keep: seconds that a request for an update still to come is kept.
        key: key of the run: only processes with it may ask; None for any process.
        where: returns where this worker is in its script; None for no answer.
    """

    def __init__(
        self,
        log: UpdateLog,
        host: str = "127.0.0.1",
        keep: Seconds = 0.5,
        key: Key | None = None,
        where: Callable[[Where], Here] | None = None,
    ) -> None:
        self._log, self._keep, self._where = log, keep, where
        self._kept: list[_Kept] = []
        self._kept_each: Counter[bytes] = Counter()
        self._limits = Limits()
        self._offered: tuple[int, list[bytes | memoryview]] | None = None
        self._context = zmq.Context(1)
        self._router = self._context.socket(zmq.ROUTER)
        self._router.setsockopt(zmq.MAXMSGSIZE, MOST_REQUEST)
        self._router.setsockopt(zmq.RCVHWM, MOST_UNREAD)
        self._router.setsockopt(zmq.SNDHWM, MOST_WAITING)
        self._router.setsockopt(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
        self._router.setsockopt(zmq.BACKLOG, BACKLOG)
        self._router.setsockopt(zmq.IPV6, int(":" in host))
        self._secured = ExitStack()
        self._secured.enter_context(secured_server(self._router, key))
        try:
            self._router.bind(f"tcp://[{host}]:*" if ":" in host else f"tcp://{host}:*")
        except zmq.ZMQError as problem:
            self._secured.close()
            self._context.destroy(0)
            raise InputError(
                f"Updates cannot be offered at {host!r}: {problem}. Give an address of this machine."
            ) from problem
        self.address: str = self._router.getsockopt_string(zmq.LAST_ENDPOINT)
        self._ring, self._bell = socket.socketpair()
        self._ring.setblocking(False)
        self._bell.setblocking(False)
        self._closing = False
        self._thread = Thread(target=self._serve, name="tailcut-updates", daemon=True)
        log.listen(self._grew)
        self._thread.start()

    def offer(self, version: int, frames: list[bytes | memoryview] | None) -> None:
        """Give a state of this version to workers that ask for it, from here on; None to stop."""
        self._offered = None if frames is None else (version, frames)

    def close(self, linger: Seconds = 1.0) -> None:
        """Stop; answers under way have `linger` seconds to leave."""
        if self._closing:
            return
        self._closing = True
        self._log.unlisten(self._grew)
        self._wake()
        self._thread.join()
        self._router.close(int(1000 * linger))
        self._secured.close()
        self._context.term()
        self._ring.close()
        self._bell.close()

    def __enter__(self) -> UpdateServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _grew(self) -> None:
        """Wake the thread after an append if a request waits: they are kept before the log is looked into."""
        if self._kept:
            self._wake()

    def _wake(self) -> None:
        with suppress(BlockingIOError):  # full: the thread is woken already
            self._ring.send(b"!")

    def _serve(self) -> None:
        poller = zmq.Poller()
        poller.register(self._router, zmq.POLLIN)
        poller.register(self._bell, zmq.POLLIN)
        while not self._closing:
            poller.poll(self._patience())
            self._drain_bell()
            self._take_requests()
            self._answer_kept()

    def _patience(self) -> int | None:
        """Return the milliseconds until a kept request must be answered; None where none is kept."""
        if not self._kept:
            return None
        return max(0, ceil(1000 * (min(each.until for each in self._kept) - monotonic())))

    def _drain_bell(self) -> None:
        with suppress(BlockingIOError):
            while self._bell.recv(4096):
                pass

    def _take_requests(self) -> None:
        for _ in range(MOST_AT_ONCE):
            try:
                who, *frames = self._router.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            now = monotonic()
            if self._limits.admits(who, now):
                self._take(who, _request(frames), now)

    def _take(self, who: bytes, asked: Pull | Copy | Where | None, now: Seconds) -> None:
        if asked is None:
            self._limits.charge(who, now)
        elif isinstance(asked, Copy):
            self._give_state(who, asked, now)
        elif isinstance(asked, Where):
            # The controller asks rarely.
            self._limits.charge(who, now)
            if self._where is not None:
                self._send([who, encode(self._where(asked))])
        else:
            has_room = len(self._kept) < MOST_KEPT and self._kept_each[who] < MOST_KEPT_EACH
            self._kept.append(_Kept(who, asked, now + self._keep if has_room else now))
            self._kept_each[who] += 1

    def _give_state(self, who: bytes, asked: Copy, now: Seconds) -> None:
        offered = self._offered
        if offered is not None and offered[0] == asked.version:
            # No worker needs it many times.
            self._limits.charge(who, now)
            self._send([who, *offered[1]], copy=False)
        else:
            self._send([who, encode(NotYet(asked.term, asked.epoch, asked.version, *self._log.span))])

    def _answer_kept(self) -> None:
        # Read once for all requests: the log may grow meanwhile, and no update may overtake an earlier one.
        now, newest = monotonic(), self._log.span[1]
        self._kept = [each for each in self._kept if not self._answered(each, now, newest)]
        self._kept_each = Counter(each.who for each in self._kept)

    def _answered(self, kept: _Kept, now: Seconds, newest: int) -> bool:
        asked = kept.asked
        to_come = asked.version > newest
        update = None if to_come else self._log.get(asked.version)
        if update is not None:
            # Without a copy: one of a large vector would hold the interpreter lock while the worker computes.
            self._send([kept.who, update.head, update.raw], copy=False)
        elif to_come and now < kept.until:
            return False
        else:
            self._send([kept.who, encode(NotYet(asked.term, asked.epoch, asked.version, *self._log.span))])
        return True

    def _send(self, frames: list[bytes | memoryview], copy: bool = True) -> None:
        with suppress(zmq.Again):  # a peer that does not read its answers will ask again
            self._router.send_multipart(frames, zmq.NOBLOCK, copy=copy)


def _request(frames: list[bytes]) -> Pull | Copy | Where | None:
    """Return the request in some frames; None where they are none, which is not answered."""
    if len(frames) != 1:
        return None
    try:
        message = BETWEEN_WORKERS.read(frames[0])
    except WireError:
        return None
    return message if isinstance(message, Pull | Copy | Where) else None
