"""The connection of each worker, so that no process sends messages for another worker."""

from __future__ import annotations

from typing import final

from tailcut.engines.live.messages import Applied, Arrived, Bye, Meet, State
from tailcut.types import WorkerId


@final
class Peers:
    """The connections over which workers said Hello."""

    def __init__(self) -> None:
        self._worker: dict[bytes, WorkerId] = {}
        self._peer: dict[WorkerId, bytes] = {}

    def bind(self, peer: bytes, worker: WorkerId) -> None:
        """Bind a connection to the worker that said Hello over it; forget older connections of the worker."""
        self.forget(peer)
        old = self._peer.get(worker)
        if old is not None:
            self.forget(old)
        self._worker[peer], self._peer[worker] = worker, peer

    def forget(self, peer: bytes) -> None:
        """Forget which worker this connection belongs to."""
        worker = self._worker.pop(peer, None)
        if worker is not None:
            del self._peer[worker]

    def knows(self, peer: bytes) -> bool:
        """Return whether a worker has said Hello on this connection."""
        return peer in self._worker

    def worker(self, peer: bytes) -> WorkerId | None:
        """Return the worker that has said Hello on this connection; None if none has."""
        return self._worker.get(peer)

    def of(self, worker: WorkerId) -> bytes | None:
        """Return the connection of a worker; None if it has none."""
        return self._peer.get(worker)

    def pretends(self, peer: bytes, message: Meet | Arrived | Applied | Bye | State) -> str | None:
        """Return why a message on this connection is not its worker's, as a sentence; None if it is."""
        worker = self._worker.get(peer)
        if worker == message.worker:
            return None
        who = (
            "a connection that has not said Hello" if worker is None else f"the connection of worker {worker}"
        )
        return (
            f"A message of worker {message.worker} came over {who}. Say Hello first, and speak for yourself."
        )
