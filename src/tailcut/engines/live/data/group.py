"""The group of one epoch's members, in which each can send to each: over Unix sockets on one machine, else of Gloo."""

from __future__ import annotations

import atexit
import time
from datetime import timedelta
from threading import Thread
from typing import Protocol, cast

import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import Store

from tailcut.engines.live.data.local import LocalGroup
from tailcut.types import Seconds

TAGS = 1 << 31
"""Number of different tags of messages."""
AT_EXIT: Seconds = 2.0
"""Longest time that a process waits, when it ends, for groups that are ending, in seconds."""


class Work(Protocol):
    """An operation under way."""

    def wait(self, timeout: timedelta = ...) -> bool:
        """Wait until it is done; raise a RuntimeError where it failed."""


class Group(Protocol):
    """The interface of a process group. Ranks are places in the group, not worker numbers."""

    def size(self) -> int:
        """Return the number of members."""

    def send(self, tensors: list[Tensor], dstRank: int, tag: int) -> Work:
        """Send one vector to one member."""

    def recv(self, tensors: list[Tensor], srcRank: int, tag: int) -> Work:
        """Receive one vector from one member."""


def mesh(
    store: Store,
    place: int,
    size: int,
    timeout: Seconds,
    host: str = "",
    lazy: bool = False,
    is_local: bool = False,
) -> Group:
    """Make a group in which every member can send to every other; return when all have come.

    A Gloo group listens on a TCP port. Each connection that any process makes to it costs this process a file
    descriptor until the group ends, and without any left Gloo aborts the process. So one machine does without
    Gloo.

    Args:
        store: the store in which the members find each other; of its own prefix for every epoch.
        place: place of this member in the group.
        size: number of members.
        timeout: seconds to wait for the others, and for any single operation later on.
        host: name or address of this machine, for the others; by default the interface that the
            environment variable GLOO_SOCKET_IFNAME names, or what the host name resolves to.
        lazy: return at once; two members are connected when they first need it. For members that cannot wait
            for all.
        is_local: whether all members are on one machine and of one user; the same everywhere. They are then
            connected by Unix sockets, when they first need it.
    """
    if is_local:
        return LocalGroup(store, place, size, timeout, lazy)
    gloo, limit = dist.ProcessGroupGloo, timedelta(seconds=timeout)
    if not (host or lazy):
        return cast(Group, gloo(store, place, size, limit))
    options = gloo._Options()  # type: ignore[attr-defined]
    options._timeout, options._devices = limit, [gloo.create_device(hostname=host, lazy_init=lazy)]
    return cast(Group, gloo(store, place, size, options))


def wait(work: Work | None, timeout: Seconds | None) -> None:
    """Wait for one operation, once: Gloo counts the waits, and a second one would never end.

    Args:
        work: operation under way; None for none.
        timeout: longest wait, in seconds; None for that of the group.
    """
    if work is not None:
        _ = work.wait() if timeout is None else work.wait(timedelta(seconds=timeout))


def let_go(held: list[Group]) -> None:
    """End a group, in a thread where it is of Gloo, without waiting for that.

    It ends with its last reference, and then waits for a thread of its own: where a member has died, that
    thread now and then never ends (torch 2.13, lazily connected; 4 of about 800). Such a group is left as it
    is.

    Args:
        held: a list that holds the only reference to the group.
    """
    group = held[0]
    if isinstance(group, LocalGroup):
        group.close()
        return
    # The only reference must be the list's.
    del group
    _going.difference_update([thread for thread in _going if not thread.is_alive()])
    thread = Thread(target=held.clear, name="tailcut-letting-go", daemon=True)
    _going.add(thread)
    thread.start()


_going: set[Thread] = set()


@atexit.register
def _wait() -> None:
    """Wait for groups that are ending: if the process ended before, their C++ code would abort it."""
    ends = time.monotonic() + AT_EXIT
    for thread in _going:
        thread.join(max(0.0, ends - time.monotonic()))
