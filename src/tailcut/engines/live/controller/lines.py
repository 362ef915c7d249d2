"""Which connections have broken: a process that ends takes its connections with it, so its end is known at once."""

from __future__ import annotations

from typing import final

import zmq
from zmq.utils.monitor import recv_monitor_message

from tailcut.types import WorkerId


@final
class Lines:
    """The connections of a listening socket, told apart by their file descriptors.

    Args:
        router: the socket.
    """

    def __init__(self, router: zmq.Socket[bytes]) -> None:
        self._events = router.get_monitor_socket(zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
        self._router = router
        self._worker: dict[int, WorkerId] = {}
        # Of strangers, one of whose Hello may still be unread.
        self._gone: set[int] = set()
        self._broken: list[WorkerId] = []

    @property
    def events(self) -> zmq.Socket[bytes]:
        """Readable when something has broken."""
        return self._events

    def heard(self, worker: WorkerId, frame: zmq.Frame) -> None:
        """A worker has said Hello in this frame."""
        # What broke before is of whoever had the same descriptor then.
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
        """Whether there is somebody for `broken` to tell of."""
        return bool(self._broken)

    def broken(self, only: WorkerId | None = None) -> list[WorkerId]:
        """Whose connections had broken when somebody looked, and was not told of before; or only whether one's had."""
        found = [worker for worker in self._broken if only in (None, worker)]
        self._broken = [worker for worker in self._broken if worker not in found]
        return found

    def look(self) -> None:
        """See what has broken. All that was said over it is there to be read by now, but perhaps was not before."""
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
        """Watch no longer."""
        self._router.disable_monitor()
        self._events.close()
