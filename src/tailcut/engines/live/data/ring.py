"""Sums over the accepted workers only. Nobody else takes part, however slow, busy or frozen it is.

All accepted, and the vector short: Gloo's own all-reduce. Otherwise a ring of sends and receives between them, in
which every piece of the vector is added up along the ring and then handed round, so that all get the same bits. One
accepted: a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol, cast, final

import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import Store

from tailcut.engines.live import points
from tailcut.engines.live.data.bounded import bounded
from tailcut.errors import TailcutError
from tailcut.types import Seconds

SEGMENT = 1 << 18
"""Numbers of one message at most: while one is added, the next comes in."""
RING_FROM = 1 << 19
"""Numbers from which on the ring is faster than Gloo's all-reduce: by a sixth at a million, 4 or 8 processes."""
_TAGS = 1 << 31


class ReduceError(TailcutError):
    """A reduction that did not end: a worker of it died, or fell silent. The result vector is rubbish."""


class Work(Protocol):
    """An operation under way."""

    def wait(self, timeout: timedelta = ...) -> bool:
        """Until it is done; raises RuntimeError where it failed."""


class Group(Protocol):
    """What is used of a Gloo group. Ranks are places in the group, not worker numbers."""

    def size(self) -> int:
        """How many members there are."""

    def allreduce(self, tensors: list[Tensor], opts: dist.AllreduceOptions = ...) -> Work:
        """Sum in place over all members."""

    def send(self, tensors: list[Tensor], dstRank: int, tag: int) -> Work:
        """To one member."""

    def recv(self, tensors: list[Tensor], srcRank: int, tag: int) -> Work:
        """From one member."""


def mesh(store: Store, place: int, size: int, timeout: Seconds, host: str = "", lazy: bool = False) -> Group:
    """A Gloo group in which every member is connected to every other; returns when all have come.

    Args:
        store: where they find each other; of its own prefix for every epoch.
        place: of this member in the group.
        size: members.
        timeout: seconds to wait for the others, and for any single operation later on.
        host: name or address of this machine, for the others; by default the interface that the
            environment variable GLOO_SOCKET_IFNAME names, or what the host name resolves to.
        lazy: return at once; two members are connected when they first need it. For who cannot wait for all to come.
    """
    gloo, limit = dist.ProcessGroupGloo, timedelta(seconds=timeout)
    if not (host or lazy):
        return cast(Group, gloo(store, place, size, limit))
    options = gloo._Options()  # type: ignore[attr-defined]
    options._timeout, options._devices = limit, [gloo.create_device(hostname=host, lazy_init=lazy)]
    return cast(Group, gloo(store, place, size, options))


def reduce(
    group: Group,
    me: int,
    accepted: Sequence[int],
    source: Tensor,
    out: Tensor,
    tag: int,
    timeout: Seconds | None = None,
    native: bool | None = None,
    lazy: bool = False,
) -> None:
    """Sum the accepted workers' `source` vectors into `out`. All of them must call it; the others must not.

    The result is the same on all of them, bit for bit, and follows from `accepted` and the sources alone. `source` is
    not changed, so a failed reduction can be repeated.

    Args:
        group: of the epoch.
        me: place of this worker in the group.
        accepted: places of the accepted, in the order of the ring.
        source: `(numbers,)` on the host; the same length everywhere (Gloo ends the process where it is not).
        out: `(numbers,)` to write to; rubbish after an error.
        tag: of the round; messages of different rounds are never mixed up.
        timeout: seconds that any single operation may be silent; None for what the group was made with.
        native: whether a reduction among all is left to Gloo's own all-reduce; the same everywhere. By default it
            is for short vectors, where the ring's many messages cost more than they save.
        lazy: whether the group connects lazily. Gloo may wait for ever for a connection to who is dead, so the ring
            is used, and making its two connections may take no longer than `timeout`.
    """
    _check(group, me, accepted, source, out)
    if len(accepted) == 1:
        out.copy_(source)
        return
    problem = ""
    try:
        if native is None:
            native = len(source) < RING_FROM and not lazy
        if native and len(accepted) == group.size():
            _native(group, source, out, timeout)
        else:
            _Ring(group, accepted, accepted.index(me), tag % _TAGS, timeout, lazy).reduce(source, out)
    except RuntimeError as failed:
        problem = str(failed).splitlines()[0]
    if problem:
        # Raised here, not above: an exception that remembers Gloo's own would keep the group and its peers waiting.
        raise ReduceError(
            f"The reduction of round {tag} among workers at places {list(accepted)} did not end: {problem}. "
            "A worker died or is silent; the round must be repeated in a new epoch."
        )


def _check(group: Group, me: int, accepted: Sequence[int], source: Tensor, out: Tensor) -> None:
    if me not in accepted or len(set(accepted)) < len(accepted):
        raise ValueError(f"Accepted must be different places, {me} among them, but got {list(accepted)}.")
    if not set(accepted) <= set(range(group.size())):
        raise ValueError(f"Accepted must be places in a group of {group.size()}, but got {list(accepted)}.")
    if source.shape != out.shape or source.dtype != out.dtype or source.dim() != 1:
        raise ValueError(
            f"Source and out must be vectors alike, but got {source.shape} {source.dtype} and {out.shape} {out.dtype}."
        )


def _native(group: Group, source: Tensor, out: Tensor, timeout: Seconds | None) -> None:
    out.copy_(source)
    options = dist.AllreduceOptions()
    if timeout is not None:
        options.timeout = timedelta(seconds=timeout)
    group.allreduce([out], options).wait()


@final
@dataclass(frozen=True, slots=True)
class _Ring:
    """One worker's part of a ring.

    The vector is cut into as many chunks as there are workers. Chunk p starts at place p of the ring as it is there;
    every worker adds its own to what comes in and passes it on; who adds the last passes on the sum. Messages of one
    tag between two workers keep their order, so none needs a number.
    """

    group: Group
    accepted: Sequence[int]
    place: int
    tag: int
    timeout: Seconds | None
    lazy: bool

    def reduce(self, source: Tensor, out: Tensor) -> None:
        n = len(self.accepted)
        ours, sums = _cut(source, n), _cut(out, n)
        first, came = ours[self.place], sums[self.place]
        order = [(self.place - 1 - step) % n for step in range(n - 1)]
        adding = [pair for chunk in order for pair in zip(sums[chunk], ours[chunk], strict=True)]
        handed = [part for chunk in order[:-1] for part in sums[chunk]]
        receives, gathers, sends = list[Work | None](), list[Work | None](), list[Work | None]()

        def post() -> None:
            # All receives are posted before they are due: a send to somebody not yet ready costs a round trip more.
            receives.extend(self._receive(part) for part, _ in adding)
            gathers.extend(self._receive(part) for part in came)
            sends.extend(self._send(part) for part in first)

        if self.lazy and self.timeout is not None:
            bounded(post, self.timeout, "connecting to its neighbours")
        else:
            post()
        for receive, (part, own) in zip(receives, adding, strict=True):
            self._wait(receive)
            part.add_(own)
            sends.append(self._send(part))
            points.at("segment", self.tag)
        for passed, part in zip(sends[len(first) :], handed, strict=False):
            self._wait(passed)  # only then may the sum be written over what was sent
            gathers.append(self._receive(part))
        for at, part in enumerate([*came, *handed]):
            self._wait(gathers[at])
            if at < len(handed):
                sends.append(self._send(part))
            points.at("segment", self.tag)
        # Gloo counts what is waited for: a second wait for the same send would never end.
        for send in [*sends[: len(first)], *sends[len(first) + len(handed) :]]:
            self._wait(send)

    def _send(self, part: Tensor) -> Work | None:
        after = self.accepted[(self.place + 1) % len(self.accepted)]
        return self.group.send([part], after, self.tag) if part.numel() else None

    def _receive(self, part: Tensor) -> Work | None:
        before = self.accepted[self.place - 1]
        return self.group.recv([part], before, self.tag) if part.numel() else None

    def _wait(self, work: Work | None) -> None:
        if work is not None:
            _ = work.wait() if self.timeout is None else work.wait(timedelta(seconds=self.timeout))


def _cut(vector: Tensor, n: int) -> list[tuple[Tensor, ...]]:
    """Views of n chunks, each of equally many messages; those of a short vector may be empty."""
    longest = -(-len(vector) // n)
    messages = max(1, -(-longest // SEGMENT))
    chunks = torch.tensor_split(vector, n)
    return [(chunk,) if messages == 1 else torch.tensor_split(chunk, messages) for chunk in chunks]
