"""The controller's socket and clock: it hands messages to the hub, and sends the hub's answers."""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import zmq

from tailcut.engines.in_time import in_time
from tailcut.engines.live.controller.asking import Asking
from tailcut.engines.live.controller.deadlock import Deadlock
from tailcut.engines.live.controller.hub import Hub
from tailcut.engines.live.controller.intake import Came, Intake
from tailcut.engines.live.controller.lines import Lines
from tailcut.engines.live.controller.listening import Router, listening
from tailcut.engines.live.controller.orders import SENDER, Answers
from tailcut.engines.live.controller.peers import Peers
from tailcut.engines.live.descriptors import DescriptorWatch, raise_limit
from tailcut.engines.live.keys import Key, open_to_all
from tailcut.engines.live.messages import FromWorker, Hello, Message, Refused, Where
from tailcut.engines.live.wire import encode
from tailcut.types import Seconds, WorkerId

LOOK_UP = 0.1
"""Longest wait for messages, in seconds, before the controller checks whether it is to stop."""
STOPPED = (
    "The process that had started the controller, worker 0 or the launcher, has ended. See what it printed."
)
"""Error message for workers when the controller is to stop. Nothing is sent to that process itself."""
OVERDUE: Seconds = 1.0
"""Longest delay of what is done when no message waits, in seconds. Only a faulty peer keeps sending."""


@dataclass(frozen=True, slots=True)
class Served:
    """The outcome of a run.

    Attributes:
        version: version of the newest parameters.
        why: reason for which the run failed, as a sentence; None if it ended as it should.
        malformed: frames that were no message.
        ignored: messages of another term or epoch, or of workers that had left.
        dropped: messages that were not decoded, of peers above their limit.
        deserted: whether all workers with a state were lost before its end.
    """

    version: int
    why: str | None
    malformed: int
    ignored: int
    dropped: int = 0
    deserted: bool = False


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
    key: Key | None = None,
) -> Served:
    """Be the controller of a run until it is over.

    Args:
        hub: the controller's logic.
        address: address to listen on, as `tcp://host:port`; port 0 for any that is free.
        ready: is told the address, with the port, as soon as workers may connect.
        stop: returns whether to end at once; called several times a second.
        max_wait: seconds of silence after which a worker is reported. If then a worker waits for an answer
            and none has sent a message for as long, the run ends.
        say: is told which workers are silent, once each time, and at first if other machines may connect
            without a key.
        look: is given the hub and the time when no message waits, several times a second.
        clock: seconds, never running backwards.
        key: key of the run, which clients must hold to connect; None for any client.

    Raises:
        InputError: the address cannot be listened on.
    """
    raise_limit()
    with listening(address, key) as router:
        here = router.getsockopt_string(zmq.LAST_ENDPOINT)
        ready(here)
        if (warning := open_to_all(here, key)) is not None:
            say(warning)
        server = Server(hub, router, max_wait, say, clock, look, key)
        try:
            while not (hub.over or server.given_up):
                if stop():
                    server.send(hub.fail(STOPPED))
                    break
                server.turn()
            server.finish()
        finally:
            server.close()
        counts = server.intake.malformed, hub.ignored, server.intake.dropped
        return Served(hub.version, hub.why, *counts, hub.deserted)


@final
class Server:
    """Connects a hub to a socket.

    Args:
        hub, max_wait, say, clock, look, key: as for `serve`.
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
        key: Key | None = None,
    ) -> None:
        self._deadlock, self._asking = Deadlock(max_wait), Asking(key)
        self.intake = Intake(router, clock)
        self.given_up = False
        self._hub, self._router, self._clock = hub, router, clock
        self._max_wait, self._say, self._look = max_wait, say, look
        self._peers, self._lines = Peers(), Lines(router)
        self._untraced, self._cut = set[bytes](), set[WorkerId]()
        self._overdue = clock() + OVERDUE
        self._spoken_of: set[WorkerId] = set()
        self._has_told_return = False
        self._look_around = clock() + max_wait
        self._descriptors = DescriptorWatch("The controller", say)

    def turn(self) -> None:
        """Handle the messages that came, then what is due, then think: no worker waits for a forecast."""
        # First: a worker that said Bye and then ended has left in order, and its Bye may still be unread.
        self._lines.look()
        for came in self.intake.messages(self._is_traced):
            self._take_in(came)
        is_overdue = self._clock() >= self._overdue
        if self.intake.is_quiet or is_overdue:
            self._mind_lines()
        self.send(self._hub.tick(self._clock()))
        if is_overdue or not self.intake.something_came:
            self.send(self._hub.think())
            self._look(self._hub, self._clock())
            self._descriptors.look(self._clock())
            self._tell_return()
            self._mind_silence()
            self._mind_deadlock()
            self._overdue = self._clock() + OVERDUE
            if not self._hub.over:
                self._wait()

    def finish(self) -> None:
        """Record what was not recorded yet, when the run is over."""
        self._hub.think()

    def close(self) -> None:
        """Stop watching connections, and close those to workers that were asked."""
        self._asking.close()
        self._lines.close()

    # -- in -----------------------------------------------------------------------------------------------------

    def _is_traced(self, peer: bytes) -> bool:
        """Return whether a peer's connection is known; it is read once for each Hello."""
        return self._peers.knows(peer) and peer not in self._untraced

    def _take_in(self, came: Came) -> None:
        peer, message = came.peer, came.message
        if isinstance(message, Hello):
            is_known = self._peers.knows(peer)
            if is_known or self._peers.of(message.worker) is not None:
                # It may come over a new connection: then the old one has broken before.
                self._lines.look()
                self._mind_lines(message.worker)
            if is_known:
                self._untraced.add(peer)
        answers = self._answers(peer, message)
        if answers:
            if answers[0][0] == SENDER:
                self.intake.offends(peer)
            self.send(answers, peer)
        if came.frame is not None and (worker := self._peers.worker(peer)) is not None:
            self._untraced.discard(peer)
            self._lines.heard(worker, came.frame)

    def _mind_lines(self, only: WorkerId | None = None) -> None:
        """Handle workers whose connection broke, or `only` this one: others may have unread messages."""
        for worker in self._lines.broken(only):
            self._cut.add(worker)
            there = worker in self._hub.places.there and self._hub.epoch > 0
            who = str(self._hub.places[worker]) if there else ""
            self.send(self._hub.lost(worker, self._clock()))
            if there and not self._hub.over:
                after = self._hub.too_few or ("" if self._hub.deserted else "The others go on.")
                self._say(f"The process has ended of {who}, or it is cut off. {after}".rstrip())

    def _answers(self, peer: bytes, message: FromWorker) -> Answers:
        if isinstance(message, Hello):
            if self._peers.of(message.worker) not in (None, peer) and message.worker not in self._cut:
                return [(SENDER, Refused(self._hub.term, self._hub.epoch, self._taken(message.worker)))]
            answers = self._hub.handle(message, in_time(self._clock(), self._hub.wake_at))
            if not any(worker == SENDER for worker, _ in answers):
                self._peers.bind(peer, message.worker)
                self._cut.discard(message.worker)
            return answers
        why = self._peers.pretends(peer, message)
        if why is not None:
            # A message for the controller before this one is no offense; its worker will say Hello.
            if message.term < self._hub.term:
                return []
            return [(SENDER, Refused(self._hub.term, self._hub.epoch, why))]
        return self._hub.handle(message, in_time(self._clock(), self._hub.wake_at))

    def _taken(self, worker: WorkerId) -> str:
        """Return a sentence for a process that claims the place of a connected worker."""
        there = self._hub.places[worker].hello
        who = f"process {there.process} on {there.host}, which is connected"
        return f"Place {worker} is taken by {who}. Give every worker its own number."

    # -- out ----------------------------------------------------------------------------------------------------

    def send(self, answers: Answers, sender: bytes | None = None) -> None:
        """Send messages; one that goes to many workers is encoded once."""
        last: Message | None = None
        frame = b""
        for worker, message in answers:
            if message is not last:
                last, frame = message, encode(message)
            peer = sender if worker == SENDER else self._peers.of(worker)
            if peer is not None:
                self._router.send(peer, zmq.SNDMORE)
                self._router.send(frame)

    # -- time ---------------------------------------------------------------------------------------------------

    def _wait(self) -> None:
        """Wait for a message, or until something is due. zmq's poll, in whole milliseconds, is too coarse."""
        now, wake_at = self._clock(), self._hub.wake_at
        pause = LOOK_UP if wake_at is None else min(max(wake_at - now, 0.0), LOOK_UP)
        # The socket's file descriptor tells of changes only, so it must be asked for events first.
        if pause > 0.0 and not (self.intake.something_came or self._lines.some_broke):
            select.select([self._router, self._lines.events], [], [], pause)

    def _tell_return(self) -> None:
        """Say once from which version a run continues whose workers are all new."""
        version = self._hub.resumed_at
        if version is not None and not self._has_told_return:
            self._has_told_return = True
            self._say(
                f"The run continues from the checkpoint of version {version}."
                if version
                else "The run begins anew: no worker has a state or a checkpoint of it."
            )

    def _mind_deadlock(self) -> None:
        """Ask workers where they are if none makes progress, and report a deadlock."""
        if not self._hub.is_open:
            return
        places, now = self._hub.places, self._clock()
        asked = self._deadlock.to_ask(places, now)
        if asked:
            addresses = {worker: places[worker].hello.address for worker in asked}
            self._asking.ask(addresses, Where(self._hub.term, self._hub.epoch))
        for worker, here in self._asking.answers():
            found = self._deadlock.heard(worker, here, places, now)
            if found is not None:
                self._say(found)

    def _mind_silence(self) -> None:
        now = self._clock()
        if now < self._look_around:
            return
        # Not checked in every turn: hitting max_wait exactly is not worth a thousand checks a second.
        self._look_around = now + min(LOOK_UP, self._max_wait / 2)
        silent = self._hub.silence(now, self._max_wait)
        for worker in sorted(silent.keys() - self._spoken_of):
            self._say(silent[worker])
        self._spoken_of = set(silent)
        why = self._hub.standstill(now, self._max_wait)
        if why is not None:
            self.send(self._hub.fail(why))
            self.given_up = True
