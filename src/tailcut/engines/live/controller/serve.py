"""The controller's socket and clock: what comes is handed to the hub, what the hub says is sent."""

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
"""Seconds after which it looks up from waiting, to see whether it is to stop."""
STOPPED = (
    "The process that had started the controller, worker 0 or the launcher, has ended. See what it printed."
)
"""What workers are told then. Nothing is said to that process itself."""
OVERDUE: Seconds = 1.0
"""For what is done when nothing comes any more. Something always comes only where a peer has gone wrong."""


@dataclass(frozen=True, slots=True)
class Served:
    """How a run ended.

    Attributes:
        version: of the newest parameters.
        why: it failed, as a sentence; None where it ended as it should.
        malformed: frames that were no message.
        ignored: messages of another term or epoch, or of workers that had left.
        dropped: messages that were not even looked at, of peers that said too much or nothing but rubbish.
        deserted: whether all workers vanished before its end.
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
        address: to listen on, as `tcp://host:port`; port 0 for any that is free.
        ready: is told the address, with the port, as soon as workers may connect.
        stop: whether to end at once; asked several times a second.
        max_wait: seconds after which silence is spoken of. If then somebody waits for an answer and nobody at all
            says anything, the run ends.
        say: is told who is silent, once each time; and at first, if others than this machine may connect without a key.
        look: is shown the hub and told the time when nobody waits for anything, several times a second.
        clock: seconds, never running backwards.
        key: of the run: only who holds it may connect; None for anybody.

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
    """A hub on a socket.

    Args:
        hub, max_wait, say, clock, look, key: as of `serve`.
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
        """Take in what came, then what is due, then think: nobody waits for a forecast."""
        # First: who has said Bye and then ended has left in order, and its Bye may have come a moment ago.
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
        """The run is over: what was not told yet is told."""
        self._hub.think()

    def close(self) -> None:
        """Watch connections no longer."""
        self._asking.close()
        self._lines.close()

    # -- in -----------------------------------------------------------------------------------------------------

    def _is_traced(self, peer: bytes) -> bool:
        """Where it came from is asked once for each Hello."""
        return self._peers.knows(peer) and peer not in self._untraced

    def _take_in(self, came: Came) -> None:
        peer, message = came.peer, came.message
        if isinstance(message, Hello):
            is_known = self._peers.knows(peer)
            if is_known or self._peers.of(message.worker) is not None:
                # Perhaps over a new connection: the end of the old one came before.
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
        """Who has ended without a word is not waited for. Of others than `only` a word may still be unread."""
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
            # What was said to the controller before this one is no offence; its worker will say Hello.
            if message.term < self._hub.term:
                return []
            return [(SENDER, Refused(self._hub.term, self._hub.epoch, why))]
        return self._hub.handle(message, in_time(self._clock(), self._hub.wake_at))

    def _taken(self, worker: WorkerId) -> str:
        """Whoever repeats the Hello of another is told."""
        there = self._hub.places[worker].hello
        who = f"process {there.process} on {there.host}, which is connected"
        return f"Place {worker} is taken by {who}. Give every worker its own number."

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
                self._router.send(peer, zmq.SNDMORE)
                self._router.send(frame)

    # -- time ---------------------------------------------------------------------------------------------------

    def _wait(self) -> None:
        """Until something comes or is due. zmq's own poll counts in whole milliseconds: too coarse for short rounds."""
        now, wake_at = self._clock(), self._hub.wake_at
        pause = LOOK_UP if wake_at is None else min(max(wake_at - now, 0.0), LOOK_UP)
        # The socket's file descriptor tells of changes only, so it must be asked for events first.
        if pause > 0.0 and not (self.intake.something_came or self._lines.some_broke):
            select.select([self._router, self._lines.events], [], [], pause)

    def _tell_return(self) -> None:
        """Say once from where a run continues whose workers are all new."""
        version = self._hub.resumed_at
        if version is not None and not self._has_told_return:
            self._has_told_return = True
            self._say(
                f"The run continues from the checkpoint of version {version}."
                if version
                else "The run begins anew: no worker has a state or a checkpoint of it."
            )

    def _mind_deadlock(self) -> None:
        """Where nothing moves, ask workers where they are, and say so if nothing can move."""
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
