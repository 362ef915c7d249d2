"""The last updates that a worker has applied, kept for late workers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock

from tailcut.engines.live.checkpoints.positions import Positions
from tailcut.engines.live.data.updates import START, Update, UpdateError
from tailcut.errors import ParameterError


class UpdateLog:
    """Updates in order, without a gap, in bounded memory: the oldest goes first. Any thread may use it.

    The newest is kept whatever its size.

    Args:
        version: version of the parameters at which the log begins.
        chain: chain (history hash) up to there.
        most_bytes: most bytes of the updates kept.
        most_versions: most updates kept.

    Example:
        >>> log = UpdateLog(most_versions=100)
        >>> log.version, log.span
        (0, (0, -1))
    """

    def __init__(
        self,
        version: int = 0,
        chain: bytes = START,
        *,
        most_bytes: int = 1 << 30,
        most_versions: int = 100_000,
    ) -> None:
        if most_versions < 1:
            raise ParameterError(f"An update log must keep at least 1 version, but got {most_versions=}.")
        if most_bytes < 0:
            raise ParameterError(f"The bytes of an update log must be >= 0, but got {most_bytes=}.")
        self._most_bytes, self._most_versions = most_bytes, most_versions
        self._lock = Lock()
        self._listeners: list[Callable[[], None]] = []
        self._updates: deque[Update] = deque()
        self._bytes = 0
        self._version, self._chain = version, chain
        self.positions = Positions()
        """The number of gradients of each worker in the updates so far."""

    @property
    def version(self) -> int:
        """Return the version of the parameters after the newest update."""
        return self._version

    @property
    def chain(self) -> bytes:
        """Return the chain up to the newest update."""
        return self._chain

    @property
    def nbytes(self) -> int:
        """Return the bytes of the updates kept, about."""
        return self._bytes

    @property
    def span(self) -> tuple[int, int]:
        """Return the oldest and newest version kept; the newest is one less than the oldest without any."""
        with self._lock:
            return self._version - len(self._updates), self._version - 1

    def append(self, update: Update) -> None:
        """Add the next update, and call the listeners."""
        with self._lock:
            if update.version != self._version:
                raise UpdateError(
                    f"The next update of this log is that of version {self._version}, but got {update.version}."
                )
            if not update.follows(self._chain):
                raise UpdateError(
                    f"The update of version {update.version} belongs to another history than this worker's. "
                    "Copy the whole state from another worker, or go back to a checkpoint."
                )
            self._updates.append(update)
            self._bytes += update.nbytes
            self._version, self._chain = update.version + 1, update.chain
            self.positions = self.positions.after(update.accepted)
            self._drop()
        for listener in tuple(self._listeners):
            listener()

    def forget(self, before: int) -> None:
        """Drop updates of older versions; the newest is kept all the same."""
        with self._lock:
            while len(self._updates) > 1 and self._updates[0].version < before:
                self._bytes -= self._updates.popleft().nbytes

    def get(self, version: int) -> Update | None:
        """Return the update that made `version` + 1, if it is kept."""
        with self._lock:
            place = version - (self._version - len(self._updates))
            return self._updates[place] if 0 <= place < len(self._updates) else None

    def restart(self, version: int, chain: bytes, positions: Positions) -> None:
        """Begin again at another state, without updates: after a whole state was copied, or loaded."""
        with self._lock:
            self._updates.clear()
            self._bytes = 0
            self._version, self._chain, self.positions = version, chain, positions

    def listen(self, listener: Callable[[], None]) -> None:
        """Call a function after every append, in the thread that appends: it must be quick."""
        self._listeners.append(listener)

    def unlisten(self, listener: Callable[[], None]) -> None:
        """Stop calling a listener."""
        self._listeners.remove(listener)

    def _drop(self) -> None:
        while len(self._updates) > 1 and (
            len(self._updates) > self._most_versions or self._bytes > self._most_bytes
        ):
            self._bytes -= self._updates.popleft().nbytes
