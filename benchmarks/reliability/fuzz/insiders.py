"""Attackers with the run's key: they are let in, and their messages are refused or ignored."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence

import zmq

from benchmarks.reliability.fuzz.letters import Letter
from tailcut.engines.live.keys import Key, secured_client
from tailcut.engines.live.wire import BETWEEN_WORKERS, FROM_CONTROLLER, WireError

OPEN = 8
"""Largest number of open connections."""
LINGER_MS = 5000


class Insiders:
    """Connections to one port, each for a few messages.

    Args:
        context: context of the sockets.
        port: `controller` or `updates`.
        address: address of the port.
        key: key of the run.

    Attributes:
        answers: number of answers by type.
    """

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], port: str, address: str, key: Key) -> None:
        self.answers: Counter[str] = Counter()
        self._context, self._port, self._address, self._key = context, port, address, key
        self._open: deque[zmq.Socket[bytes]] = deque()

    def send(self, letters: Sequence[Letter]) -> None:
        """Send messages over a new connection."""
        line = self._context.socket(zmq.DEALER)
        secured_client(line, self._key)
        line.setsockopt(zmq.LINGER, LINGER_MS)
        line.connect(self._address)
        for letter in letters:
            line.send_multipart(letter.parts)
        self._open.append(line)
        if len(self._open) > OPEN:
            self._close(self._open.popleft())

    def close(self) -> None:
        """Close all connections."""
        while self._open:
            self._close(self._open.popleft())

    def _close(self, line: zmq.Socket[bytes]) -> None:
        while line.poll(1 if self._open else 50):
            self.answers[self._named(line.recv_multipart())] += 1
        line.close()

    def _named(self, parts: list[bytes]) -> str:
        if self._port == "updates" and len(parts) > 1:
            return "update" if len(parts) == 2 and len(parts[1]) < 1000 else "state"
        reader = FROM_CONTROLLER if self._port == "controller" else BETWEEN_WORKERS
        try:
            return type(reader.read(parts[0])).__name__
        except WireError:
            return "rubbish"
