"""Sums over the accepted workers only. No other worker takes part, however slow, busy or frozen it is.

Workers of one machine sum through the memory that they share. Otherwise Gloo's own all-reduce is used if all
members are accepted, the vector is short and the group is of Gloo; else a ring of sends and receives. With
one accepted worker the vector is copied. Whichever it is, all get the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import torch.distributed as dist
from torch import Tensor

from tailcut.engines.live.data.group import TAGS, Group
from tailcut.engines.live.data.memory import MOST_SHARERS
from tailcut.engines.live.data.ring import Ring
from tailcut.engines.live.data.shared import Shared
from tailcut.errors import TailcutError
from tailcut.types import Seconds

SHARED_UP_TO = 1 << 27
"""Longest vector, in elements, that is summed in shared memory: workers send no message while they do."""
RING_FROM = 1 << 19
"""Elements from which on the ring is faster than Gloo: by a sixth at a million, 4 or 8 processes."""


class ReduceError(TailcutError):
    """A reduction that did not end: one of its workers died or fell silent. The result vector is unusable."""


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
    shared: Shared | None = None,
) -> None:
    """Sum the accepted workers' `source` vectors into `out`. All of them must call it; the others must not.

    The result is the same on all of them, bit for bit, and follows from `accepted`, the sources and the way that was
    taken. `source` is not changed, so a failed reduction can be repeated.

    Args:
        group: process group of the epoch.
        me: place of this worker in the group.
        accepted: places of the accepted, in the order of the ring.
        source: `(numbers,)` on the host; the same length everywhere (Gloo ends the process where it is not).
        out: `(numbers,)` to write to; unusable after an error.
        tag: number of the round; messages of different rounds are never mixed up.
        timeout: seconds that any single operation may be silent; None for what the group was made with.
        native: whether a reduction among all members of a Gloo group is left to Gloo's own all-reduce; the same
            everywhere. By default it is for short vectors, where the ring's many messages cost more than they save.
        lazy: whether a Gloo group connects lazily. Gloo may wait forever for a connection to a dead worker,
            so the ring is used, and making connections may take no longer than `timeout`.
        shared: this worker's view of the memory of all, its own `source` among it; None at all of them where
            they are of several machines.
    """
    _check(group, me, accepted, source, out)
    if len(accepted) == 1:
        out.copy_(source)
        return
    problem = ""
    try:
        is_short = len(source) <= SHARED_UP_TO and len(accepted) <= MOST_SHARERS
        done = (
            shared is not None
            and is_short
            and shared.reduce(group, me, accepted, out, tag % TAGS, timeout, lazy)
        )
        if native is None:
            native = len(source) < RING_FROM and not lazy
        if not done and native and isinstance(group, dist.ProcessGroupGloo) and len(accepted) == group.size():
            _native(group, source, out, timeout)
        elif not done:
            Ring(group, accepted, accepted.index(me), tag % TAGS, timeout, lazy).reduce(source, out)
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


def _native(group: dist.ProcessGroupGloo, source: Tensor, out: Tensor, timeout: Seconds | None) -> None:
    out.copy_(source)
    options = dist.AllreduceOptions()
    if timeout is not None:
        options.timeout = timedelta(seconds=timeout)
    group.allreduce([out], options).wait()  # type: ignore[attr-defined]
