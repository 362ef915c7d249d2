"""A group whose members are all on one machine. Unix sockets connect them, so no port is open to strangers.

Every member listens at a random name, which the others read in the store. A member connects to each that it
sends to, when it first does, and messages go one way over that connection. A refused connection or a closed
one is a member that has died, or has left the epoch: that is noticed at once. Nothing runs in the background:
messages move while this member sends or waits.
"""

from __future__ import annotations

import errno
import os
import secrets
import select
import socket
import struct
import sys
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import final

from torch import Tensor
from torch._C._distributed_c10d import Store

from tailcut.types import Seconds

BACKLOG = 4096
"""Most connections that may wait to be accepted."""
MAX_NEWCOMERS = 256
"""Most accepted connections that have not said yet whose they are; beyond that the oldest is closed."""
RETRY: Seconds = 0.002
"""Pause before a connection is tried again that could not be made yet, in seconds."""
_HEAD = struct.Struct("<QQ")
_WHO = struct.Struct("<8sI")
_MAGIC = b"tailcut\0"
_CREDENTIALS = struct.Struct("3i")


def locality(host: str) -> str:
    """Return a text that is the same at two workers if a Unix socket can connect them and they may share memory.

    It is empty where that is not known. Equal namespaces alone would not do: copies of one virtual machine have them
    alike, with different addresses.

    Args:
        host: this machine's address, as the others see it.
    """
    if sys.platform != "linux":
        return ""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        spaces = [str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in ("net", "pid", "user")]
        return " ".join([host, boot, *spaces, f"user:{os.geteuid()}"])
    return ""


class _GoneError(RuntimeError):
    """A member has died, or has left the group."""

    def __init__(self, place: int) -> None:
        super().__init__(f"the worker at place {place} has died, or has left this epoch")


@final
@dataclass(slots=True, eq=False)
class Transfer:
    """One vector on its way from or to another member.

    Attributes:
        group: group that it belongs to.
        body: the bytes of the vector.
        expected: the head that is sent before them: tag and length.
        head: the head that is sent, or that has come.
        moved: bytes of head and body that have been moved.
    """

    group: LocalGroup
    body: memoryview
    expected: bytes
    head: bytearray
    moved: int = 0

    @classmethod
    def of(cls, group: LocalGroup, tensors: list[Tensor], tag: int, is_sent: bool) -> Transfer:
        """Return a transfer that has not begun."""
        (tensor,) = tensors
        body = tensor.detach().numpy().data.cast("B")
        expected = _HEAD.pack(tag, len(body))
        return cls(group, body, expected, bytearray(expected if is_sent else _HEAD.size))

    @property
    def is_done(self) -> bool:
        """Return whether head and body have been moved."""
        return self.moved == _HEAD.size + len(self.body)

    @property
    def rest(self) -> list[memoryview]:
        """Return the bytes that are still to move."""
        if self.moved >= _HEAD.size:
            return [self.body[self.moved - _HEAD.size :]]
        return [memoryview(self.head)[self.moved :], self.body]

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until it is done; raise a RuntimeError where it failed."""
        self.group.complete(self, None if timeout is None else timeout.total_seconds())
        return True


@dataclass(slots=True)
class _Line:
    """One direction between two members: the connection, once there is one, and its waiting transfers."""

    socket: socket.socket | None = None
    transfers: deque[Transfer] = field(default_factory=deque)

    @property
    def is_awaited(self) -> bool:
        """Return whether a vector is to come, and the other member has not connected."""
        return bool(self.transfers) and self.socket is None


@final
class LocalGroup:
    """One member's part in a group on one machine. It is used by one thread.

    Args:
        store: the store in which the members find each other; of its own prefix for every group.
        place: place of this member in the group.
        size: number of members.
        timeout: seconds to wait for the others, and for any single operation later on.
        lazy: return at once; otherwise when all have come.

    Raises:
        RuntimeError: the others have not come in time.
    """

    def __init__(self, store: Store, place: int, size: int, timeout: Seconds, lazy: bool = False) -> None:
        self._store, self._place, self._size, self._timeout = store, place, size, timeout
        self._problem = ""
        self._outgoing = {other: _Line() for other in range(size) if other != place}
        self._incoming = {other: _Line() for other in self._outgoing}
        self._newcomers: list[socket.socket] = []
        name = f"tailcut-{secrets.token_hex(16)}"
        self._listener = _unix_socket()
        # A name that begins with a zero byte is in no file system: nothing of it stays behind a process that dies.
        self._listener.bind(f"\0{name}")
        self._listener.listen(BACKLOG)
        _groups.add(self)
        store.set(str(place), name)
        if not lazy:
            store.wait([str(each) for each in range(size)], timedelta(seconds=timeout))

    def __del__(self) -> None:
        # The constructor may have failed without it, as no file descriptor was left.
        if hasattr(self, "_listener"):
            self.close()

    def size(self) -> int:
        """Return the number of members."""
        return self._size

    def send(self, tensors: list[Tensor], dstRank: int, tag: int) -> Transfer:
        """Send one vector to one member. Its numbers may change only when that is done."""
        transfer = Transfer.of(self, tensors, tag, is_sent=True)
        line = self._outgoing[dstRank]
        line.transfers.append(transfer)
        if len(line.transfers) == 1 and not self._problem:
            with self._noting():
                self._send_on(dstRank, line)
        return transfer

    def recv(self, tensors: list[Tensor], srcRank: int, tag: int) -> Transfer:
        """Receive one vector from one member: the next that it sends, which must have this tag and length."""
        transfer = Transfer.of(self, tensors, tag, is_sent=False)
        self._incoming[srcRank].transfers.append(transfer)
        return transfer

    def close(self, is_copy: bool = False) -> None:
        """Leave the group: members that wait for this one are told.

        Args:
            is_copy: whether this process is a fork of the member's, and has copies of its connections.
        """
        self._problem = self._problem or "this worker has left the group"
        _groups.discard(self)
        lines = [*self._outgoing.values(), *self._incoming.values()]
        for one in [self._listener, *self._newcomers, *(line.socket for line in lines if line.socket)]:
            # A fork of this process may keep a copy open, which would hide from the others that it is closed here.
            with suppress(OSError):
                if not is_copy:
                    one.shutdown(socket.SHUT_RDWR)
            one.close()
        for line in lines:
            line.transfers.clear()

    def complete(self, transfer: Transfer, timeout: Seconds | None) -> None:
        """Wait for one transfer.

        Raises:
            RuntimeError: a member has died or left, or this took too long.
        """
        limit = self._timeout if timeout is None else timeout
        until = monotonic() + limit
        while not transfer.is_done:
            left = until - monotonic()
            moved = False
            if not self._problem:
                with self._noting():
                    moved = self._move(max(left, 0.0))
            if self._problem:
                raise RuntimeError(self._problem)
            # This process itself may have been suspended: data that has come meanwhile is taken in first.
            if not moved and left <= 0.0:
                self._problem = f"no word came from another worker in {limit:g} s"

    def _move(self, limit: Seconds) -> bool:
        """Wait until data can be sent or received, and do so; return whether there was any in time."""
        wanted, watched, awaits_some = dict[int, int](), dict[int, int](), False
        for other, line in self._incoming.items():
            if line.transfers and line.socket is not None:
                wanted[line.socket.fileno()] = select.POLLIN
                watched[line.socket.fileno()] = other
            awaits_some |= line.is_awaited
        for other, line in self._outgoing.items():
            # A member that has not connected yet may be dead: a connection to it tells.
            if not (line.transfers or self._incoming[other].is_awaited):
                continue
            try:
                self._connect(other, line)
            except _GoneError:
                # It may have connected, sent all that is needed of it, and left: then nothing is wrong.
                self._meet_newcomers()
                if line.transfers or self._incoming[other].is_awaited:
                    raise
                return True
            if line.socket is None:
                limit = min(limit, RETRY)
                continue
            wanted[line.socket.fileno()] = select.POLLOUT if line.transfers else 0
            watched[line.socket.fileno()] = other
        poller = select.poll()
        for descriptor, events in wanted.items():
            poller.register(descriptor, events)
        for one in [self._listener, *self._newcomers] if awaits_some else []:
            poller.register(one, select.POLLIN)
        ready = poller.poll(1000.0 * limit)
        if awaits_some and ready:
            # New connections come first, for the same reason.
            self._meet_newcomers()
        for descriptor, _ in ready:
            if wanted.get(descriptor) == select.POLLIN:
                self._receive_on(watched[descriptor], self._incoming[watched[descriptor]])
            elif wanted.get(descriptor) == select.POLLOUT:
                self._send_on(watched[descriptor], self._outgoing[watched[descriptor]])
            elif descriptor in wanted and self._incoming[watched[descriptor]].is_awaited:
                raise _GoneError(watched[descriptor])
        return bool(ready)

    def _send_on(self, other: int, line: _Line) -> None:
        self._connect(other, line)
        while line.transfers and line.socket is not None:
            transfer = line.transfers[0]
            try:
                transfer.moved += line.socket.sendmsg(transfer.rest)
            except BlockingIOError:
                return
            except OSError:
                raise _GoneError(other) from None
            if transfer.is_done:
                line.transfers.popleft()

    def _receive_on(self, other: int, line: _Line) -> None:
        assert line.socket is not None
        while line.transfers:
            transfer = line.transfers[0]
            try:
                came = line.socket.recvmsg_into(transfer.rest)[0]
            except BlockingIOError:
                return
            except OSError:
                came = 0
            if not came:
                raise _GoneError(other)
            transfer.moved += came
            if transfer.moved >= _HEAD.size and bytes(transfer.head) != transfer.expected:
                raise RuntimeError(f"the worker at place {other} sent something of another round or length")
            if transfer.is_done:
                line.transfers.popleft()

    def _connect(self, other: int, line: _Line) -> None:
        """Connect to another member, if that can be done already and is not done yet."""
        if line.socket is not None or not self._store.check([str(other)]):
            return
        one = _unix_socket()
        try:
            one.connect("\0" + self._store.get(str(other)).decode())
            if _user(one) != os.geteuid():
                raise ConnectionRefusedError
            one.sendall(_WHO.pack(_MAGIC, self._place))
        except OSError as problem:
            one.close()
            if problem.errno == errno.EAGAIN:
                # Its backlog is full. The connections are accepted as soon as that member waits too.
                return
            raise _GoneError(other) from None
        line.socket = one

    def _meet_newcomers(self) -> None:
        """Accept connections, and find out whose they are. Those of other users are closed."""
        with suppress(BlockingIOError):
            for _ in range(BACKLOG):
                one, _ = self._listener.accept()
                one.setblocking(False)
                if _user(one) == os.geteuid():
                    self._newcomers.append(one)
                else:
                    one.close()
        waiting = list[socket.socket]()
        for one in self._newcomers:
            try:
                said = one.recv(_WHO.size)
            except BlockingIOError:
                waiting.append(one)
                continue
            except OSError:
                said = b""
            magic, other = _WHO.unpack(said) if len(said) == _WHO.size else (b"", -1)
            line = self._incoming.get(other) if magic == _MAGIC else None
            if line is None or line.socket is not None:
                one.close()
            else:
                line.socket = one
        # Once all members are here, no other process has a reason to connect.
        is_complete = all(line.socket is not None for line in self._incoming.values())
        self._newcomers = [] if is_complete else waiting[-MAX_NEWCOMERS:]
        for one in waiting[: len(waiting) - len(self._newcomers)]:
            one.close()
        if is_complete:
            self._listener.close()

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Remember an error as text: an exception would keep alive the objects of all its frames."""
        try:
            yield
        except (RuntimeError, OSError) as problem:
            self._problem = str(problem).splitlines()[0]


def _unix_socket() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)


def _user(connected: socket.socket) -> int:
    """Return the user of the process at the other end, as the system tells it."""
    said = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(said)[1])


_groups: weakref.WeakSet[LocalGroup] = weakref.WeakSet()


def _close_copies() -> None:
    """Close a forked process's copies of its parent's connections, which would hide the parent's death."""
    for group in list(_groups):
        group.close(is_copy=True)


os.register_at_fork(after_in_child=_close_copies)
