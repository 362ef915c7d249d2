"""Detects broken connections: a process that ends closes its connections, so its end is known at once."""

from __future__ import annotations

from typing import final

import zmq
from zmq.utils.monitor import recv_monitor_message

from tailcut.types import WorkerId


@final
class Lines:
    """The connections of a listening socket, identified by their file descriptors.

    Args:
        router: the socket.
    """

    def __init__(self, router: zmq.Socket[bytes]) -> None:
        self._events = router.get_monitor_socket(zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
        self._router = router
        self._worker: dict[int, WorkerId] = {}
        # Descriptors of closed connections of unknown workers; the Hello of one may still be unread.
        self._gone: set[int] = set()
        self._broken: list[WorkerId] = []

    @property
    def events(self) -> zmq.Socket[bytes]:
        """The socket that is readable when a connection was accepted or has broken."""
        return self._events

    def heard(self, worker: WorkerId, frame: zmq.Frame) -> None:
        """Record the connection over which a worker's Hello came, in this frame."""
        # A connection with this descriptor that broke before was another one.
        self.look()
        try:
            descriptor = int(frame.get(zmq.SRCFD))
        except zmq.ZMQError:
            # Within one process there is no connection that could break.
            return
        self._worker = {fd: other for fd, other in self._worker.items() if other != worker}
        if descriptor in self._gone:
            self._broken.append(worker)
        else:
            self._worker[descriptor] = worker

    @property
    def some_broke(self) -> bool:
        """Return whether `broken` has workers to return."""
        return bool(self._broken)

    def broken(self, only: WorkerId | None = None) -> list[WorkerId]:
        """Return and clear the workers whose connection broke since the last call; `only`: just this one."""
        found = [worker for worker in self._broken if only in (None, worker)]
        self._broken = [worker for worker in self._broken if worker not in found]
        return found

    def look(self) -> None:
        """Find broken connections. All messages that came over them can be read by now, if not before."""
        while self._events.poll(0):
            event = recv_monitor_message(self._events)
            descriptor = int(event["value"])
            worker = self._worker.pop(descriptor, None)
            if worker is not None:
                self._broken.append(worker)
            elif event["event"] == zmq.EVENT_DISCONNECTED:
                self._gone.add(descriptor)
            else:
                self._gone.discard(descriptor)

    def close(self) -> None:
        """Stop watching connections."""
        self._router.disable_monitor()
        self._events.close()
