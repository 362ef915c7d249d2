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
"""Different tags of messages."""
AT_EXIT: Seconds = 2.0
"""That a process waits, when it ends, for groups that are ending."""


class Work(Protocol):
    """An operation under way."""

    def wait(self, timeout: timedelta = ...) -> bool:
        """Until it is done; raises RuntimeError where it failed."""


class Group(Protocol):
    """What is used of any group. Ranks are places in the group, not worker numbers."""

    def size(self) -> int:
        """How many members there are."""

    def send(self, tensors: list[Tensor], dstRank: int, tag: int) -> Work:
        """To one member."""

    def recv(self, tensors: list[Tensor], srcRank: int, tag: int) -> Work:
        """From one member."""


def mesh(
    store: Store,
    place: int,
    size: int,
    timeout: Seconds,
    host: str = "",
    lazy: bool = False,
    is_local: bool = False,
) -> Group:
    """A group in which every member can send to every other; returns when all have come.

    A Gloo group listens on a TCP port. Each connection that anybody makes to it costs this process a file descriptor
    until the group ends, and without any left Gloo aborts the process. So one machine does without.

    Args:
        store: where they find each other; of its own prefix for every epoch.
        place: of this member in the group.
        size: members.
        timeout: seconds to wait for the others, and for any single operation later on.
        host: name or address of this machine, for the others; by default the interface that the
            environment variable GLOO_SOCKET_IFNAME names, or what the host name resolves to.
        lazy: return at once; two members are connected when they first need it. For who cannot wait for all to come.
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
    """For one operation, once: Gloo counts what is waited for, and a second time would never end.

    Args:
        work: under way; None for nothing.
        timeout: seconds; None for what the group was made with.
    """
    if work is not None:
        _ = work.wait() if timeout is None else work.wait(timedelta(seconds=timeout))


def let_go(held: list[Group]) -> None:
    """End a group, beside: nobody waits for it.

    It ends with its last reference, and waits for a thread of its own then: where a member has died, that thread now
    and then never comes (torch 2.13, lazily connected; 4 of about 800). What does not end is left to itself.

    Args:
        held: the only reference to it.
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
    """A process that ends while one of its groups does would be aborted, by the C++ of that group."""
    ends = time.monotonic() + AT_EXIT
    for thread in _going:
        thread.join(max(0.0, ends - time.monotonic()))
