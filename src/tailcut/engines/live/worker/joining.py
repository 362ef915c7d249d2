"""The copy of the state for a worker that joins or comes back: the holder offers it, the joiner copies it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch

from tailcut.engines.live.checkpoints.positions import Positions
from tailcut.engines.live.data.buffer import FlatBuffer
from tailcut.engines.live.data.copies import CopyError, frames_of
from tailcut.engines.live.data.copying import room_for
from tailcut.engines.live.data.log import UpdateLog
from tailcut.engines.live.data.pulling import Puller
from tailcut.engines.live.messages import Copy, New
from tailcut.engines.live.worker.replica import Replica, unsaved_buffers
from tailcut.types import Seconds


@final
@dataclass(frozen=True, slots=True)
class Own:
    """The objects that a worker trains with."""

    replica: Replica
    flat: FlatBuffer
    log: UpdateLog


def state_to_offer(own: Own) -> list[bytes | memoryview] | None:
    """Return this worker's state as frames, for one that joins; print why and return None if impossible."""
    # The changes of this worker's own pass to the buffers are in the vector with its gradients already.
    own.flat.restore()
    try:
        more: dict[str, object] = {"chain": own.log.chain, "positions": own.log.positions.state()}
        # A checkpoint has no unsaved buffers: they belong to a process. A joiner needs those that are random.
        more["unsaved"] = unsaved_buffers(own.replica.module)
        return frames_of(own.replica.state() | more)
    except CopyError as problem:
        print(f"tailcut: No worker can join: {problem}", file=sys.stderr, flush=True)
        return None


def copy_state(
    own: Own, new: New, puller: Puller, address: str, patience: Seconds, enough: Callable[[], bool]
) -> bool:
    """Copy the holder's state; return False where the epoch was over before it came.

    Args:
        own: this worker's objects, which the state is loaded into.
        new: the epoch that this worker joins.
        puller: fetches the state.
        address: address of the holder.
        patience: seconds to wait for the state.
        enough: returns whether the epoch is over.
    """
    most = room_for([own.replica.state(), unsaved_buffers(own.replica.module)])
    state = puller.copy(address, Copy(new.term, new.epoch, new.base), patience, enough, most)
    if state is None:
        return False
    own.replica.load(state)
    with torch.no_grad():
        for name, buffer in unsaved_buffers(own.replica.module).items():
            value = state["unsaved"].get(name)
            # A cache may have another size at every worker, and stays its own then.
            if value is not None and value.shape == buffer.shape:
                buffer.copy_(value)
    own.flat.rebase()
    own.log.restart(own.replica.version, state["chain"], Positions.at(state["positions"]))
    return True
