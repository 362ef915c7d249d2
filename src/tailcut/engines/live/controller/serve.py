"""The controller's socket and clock: what comes is handed to the hub, what the hub says is sent."""

from __future__ import annotations

import errno
import select
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias, final

import zmq

from tailcut.engines.live.controller.hub import SENDER, Hub
from tailcut.engines.live.controller.lines import Lines
from tailcut.engines.live.controller.orders import Answers
from tailcut.engines.live.controller.peers import Peers
from tailcut.engines.live.messages import FromWorker, Hello, Message, Refused
from tailcut.engines.live.wire import FROM_WORKER, MOST_BYTES, WireError, encode
from tailcut.errors import InputError
from tailcut.types import Seconds, WorkerId

LAST_PORT = 65535
LINGER_MS = 2000
"""How long a controller that ends goes on sending what it said last."""
LOOK_UP = 0.1
"""Seconds after which it looks up from waiting, to see whether it is to stop."""
STOPPED = "The controller was stopped, or worker 0, which had started it, has ended. Start the run again."
MOST_AT_ONCE = 1024
"""Messages taken in before it looks at the clock again."""

Router: TypeAlias = "zmq.Socket[bytes]"


@dataclass(frozen=True, slots=True)
class Served:
    """How a run ended.

    Attributes:
        version: of the newest parameters.
        why: it failed, as a sentence; None where it ended as it should.
        malformed: frames that were no message.
        ignored: messages of another term or epoch, or of workers that had left.
    """

    version: int
    why: str | None
    malformed: int
    ignored: int


def serve(
    hub: Hub,
    address: str,
    ready: Callable[[str], None],
    stop: Callable[[], bool] = lambda: False,
    max_wait: Seconds = 300.0,
    *,
    say: Callable[[str], None] = print,
    look: Callable[[Hub, Seconds], None] = lambda hub, now: None,
    clock: Callable[[], Seconds] = time.monotonic,
) -> Served:
    """Be the controller of a run until it is over.

    Args:
        hub: the controller's logic.
        address: to listen on, as `tcp://host:port`; port 0 for any that is free.
        ready: is told the address, with the port, as soon as workers may connect.
        stop: whether to end at once; asked several times a second.
        max_wait: seconds after which silence is spoken of. If then somebody waits for an answer and nobody at all
            says anything, the run ends.
        say: is told who is silent, once each time.
        look: is shown the hub and told the time when nobody waits for anything, several times a second.
        clock: seconds, never running backwards.

    Raises:
        InputError: the address cannot be listened on.
    """
    with _listening(address) as router:
        ready(router.getsockopt_string(zmq.LAST_ENDPOINT))
        server = Server(hub, router, max_wait, say, clock, look)
        try:
            while not (hub.over or server.given_up):
                if stop():
                    server.send(hub.fail(STOPPED))
                    break
                server.turn()
            server.finish()
        finally:
            server.close()
        return Served(hub.version, hub.why, server.malformed, hub.ignored)


@contextmanager
def _listening(address: str) -> Iterator[Router]:
    """A socket on an address."""
    with zmq.Context() as context, context.socket(zmq.ROUTER) as router:
        router.setsockopt(zmq.LINGER, LINGER_MS)
        router.setsockopt(zmq.MAXMSGSIZE, MOST_BYTES)
        # A worker that computes for long reads nothing meanwhile, and must find every message when it does.
        router.setsockopt(zmq.SNDHWM, 0)
        router.setsockopt(zmq.RCVHWM, 0)
        router.setsockopt(zmq.ROUTER_HANDOVER, 1)
        try:
            _check_port(address)
            router.bind(address)
        except (zmq.ZMQError, ValueError) as problem:
            raise InputError(_cannot_listen(address, problem)) from problem
        yield router


def _check_port(address: str) -> None:
    """Refuse ports that there are not: zmq would take them for others."""
    port = address.rpartition(":")[2]
    if not (port.isdecimal() and int(port) <= LAST_PORT):
        raise ValueError(f"its port must be from 0 to {LAST_PORT}")


def _cannot_listen(address: str, problem: zmq.ZMQError | ValueError) -> str:
    if isinstance(problem, zmq.ZMQError) and problem.errno == errno.EADDRINUSE:
        return (
            f"The controller cannot listen on {address}: the port is in use, perhaps by another controller. "
            "Give another port, or 0 for any that is free."
        )
    return (
        f"The controller cannot listen on {address!r}: {problem}. Give it as tcp://host:port, of this host."
    )


@final
class Server:
    """A hub on a socket.

    Args:
        hub, max_wait, say, clock, look: as of `serve`.
        router: the socket, listening.
    """

    def __init__(
        self,
        hub: Hub,
        router: Router,
        max_wait: Seconds,
        say: Callable[[str], None],
        clock: Callable[[], Seconds],
        look: Callable[[Hub, Seconds], None] = lambda hub, now: None,
    ) -> None:
        self.malformed = 0
        self.given_up = False
        self._hub, self._router, self._clock = hub, router, clock
        self._max_wait, self._say, self._look = max_wait, say, look
        self._peers, self._lines = Peers(), Lines(router)
        self._spoken_of: set[WorkerId] = set()
        self._look_around = clock() + max_wait

    def turn(self) -> None:
        """Take in what came, then what is due, then think: nobody waits for a forecast."""
        for _ in range(MOST_AT_ONCE):
            if not self._take_next():
                # Only now: whoever has said Bye before it ended has left in order.
                self._mind_lines()
                break
        self.send(self._hub.tick(self._clock()))
        if not self._something_came():
            self.send(self._hub.think())
            self._look(self._hub, self._clock())
            self._mind_silence()
            if not self._hub.over:
                self._wait()

    def finish(self) -> None:
        """The run is over: what was not told yet is told."""
        self._hub.think()

    def close(self) -> None:
        """Watch connections no longer."""
        self._lines.close()

    # -- in -----------------------------------------------------------------------------------------------------

    def _something_came(self) -> bool:
        return bool(int(self._router.getsockopt(zmq.EVENTS)) & zmq.POLLIN)

    def _take_next(self) -> bool:
        """Take in the next message; whether there was one."""
        try:
            peer = self._router.recv(zmq.NOBLOCK)
        except zmq.Again:
            return False
        # Where it came from is asked once, of the first message: frames that can tell cost twice the time.
        is_known = self._peers.knows(peer)
        parts: list[bytes | zmq.Frame] = []
        while self._router.getsockopt(zmq.RCVMORE):
            parts.append(self._router.recv() if is_known else self._router.recv(copy=False))
        self._take_in(peer, parts)
        return True

    def _take_in(self, peer: bytes, parts: Sequence[bytes | zmq.Frame]) -> None:
        try:
            if len(parts) != 1:
                raise WireError(f"A message of {len(parts)} parts came; they have 1.")
            part = parts[0]
            message = FROM_WORKER.read(part if isinstance(part, bytes) else part.bytes)
        except WireError:
            self.malformed += 1
            return
        self.send(self._answers(peer, message), peer)
        if isinstance(message, Hello) and isinstance(part, zmq.Frame) and self._peers.knows(peer):
            self._lines.heard(message.worker, part)

    def _mind_lines(self) -> None:
        """Who has ended without a word is not waited for."""
        for worker in self._lines.broken():
            there = worker in self._hub.places.there and self._hub.epoch > 0
            who = str(self._hub.places[worker]) if there else ""
            self.send(self._hub.lost(worker, self._clock()))
            if there and not self._hub.over:
                self._say(f"The process has ended of {who}. The others go on.")

    def _answers(self, peer: bytes, message: FromWorker) -> Answers:
        if isinstance(message, Hello):
            answers = self._hub.handle(message, self._moment())
            if not any(worker == SENDER for worker, _ in answers):
                self._peers.bind(peer, message.worker)
            return answers
        why = self._peers.pretends(peer, message)
        if why is not None:
            # What was said to the controller before this one is no offence; its worker will say Hello.
            if message.term < self._hub.term:
                return []
            return [(SENDER, Refused(self._hub.term, self._hub.epoch, why))]
        return self._hub.handle(message, self._moment())

    def _moment(self) -> Seconds:
        """When a message came that is read now.

        What came while the hub was thinking counts as in time for a wake-up that has passed meanwhile: otherwise the
        first of several that wait to be read would close the round on the others.
        """
        now, wake_at = self._clock(), self._hub.wake_at
        return now if wake_at is None else min(now, wake_at)

    # -- out ----------------------------------------------------------------------------------------------------

    def send(self, answers: Answers, sender: bytes | None = None) -> None:
        """Send messages; one that goes to many is put into bytes once."""
        last: Message | None = None
        frame = b""
        for worker, message in answers:
            if message is not last:
                last, frame = message, encode(message)
            peer = sender if worker == SENDER else self._peers.of(worker)
            if peer is not None:
                self._router.send_multipart((peer, frame))

    # -- time ---------------------------------------------------------------------------------------------------

    def _wait(self) -> None:
        """Until something comes or is due. zmq's own poll counts in whole milliseconds: too coarse for short rounds."""
        now, wake_at = self._clock(), self._hub.wake_at
        pause = LOOK_UP if wake_at is None else min(max(wake_at - now, 0.0), LOOK_UP)
        # The socket's file descriptor tells of changes only, so it must be asked for events first.
        if pause > 0.0 and not self._something_came():
            select.select([self._router, self._lines.events], [], [], pause)

    def _mind_silence(self) -> None:
        now = self._clock()
        if now < self._look_around:
            return
        # Sentences every now and then; a standstill of exactly max_wait is not worth asking a thousand times a second.
        self._look_around = now + min(LOOK_UP, self._max_wait / 2)
        silent = self._hub.silence(now, self._max_wait)
        for worker in sorted(silent.keys() - self._spoken_of):
            self._say(silent[worker])
        self._spoken_of = set(silent)
        why = self._hub.standstill(now, self._max_wait)
        if why is not None:
            self.send(self._hub.fail(why))
            self.given_up = True
