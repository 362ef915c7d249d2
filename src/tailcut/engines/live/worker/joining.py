"""How a worker that comes back gets the state of the others: the holder offers it, the joiner copies it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from tailcut.engines.live.checkpoints.positions import Positions
from tailcut.engines.live.data.buffer import FlatBuffer
from tailcut.engines.live.data.copies import CopyError, frames_of
from tailcut.engines.live.data.copying import room_for
from tailcut.engines.live.data.log import UpdateLog
from tailcut.engines.live.data.pulling import Puller
from tailcut.engines.live.messages import Copy, New
from tailcut.engines.live.worker.replica import Replica
from tailcut.types import Seconds


@final
@dataclass(frozen=True, slots=True)
class Own:
    """What a worker trains with."""

    replica: Replica
    flat: FlatBuffer
    log: UpdateLog


def state_to_offer(own: Own) -> list[bytes | memoryview] | None:
    """This worker's state as it is now, for one that joins; None where it cannot be put into bytes, which it says."""
    # What this worker's own pass has done to the buffers is in its gradient's vector already.
    own.flat.restore()
    try:
        more = {"chain": own.log.chain, "positions": own.log.positions.state()}
        return frames_of(own.replica.state() | more)
    except CopyError as problem:
        print(f"tailcut: No worker can join: {problem}", file=sys.stderr, flush=True)
        return None


def copy_state(
    own: Own, new: New, puller: Puller, address: str, patience: Seconds, enough: Callable[[], bool]
) -> bool:
    """Have the holder's state; False where the epoch was over before it came.

    Args:
        own: to load it into.
        new: the epoch that this worker joins.
        puller: fetches it.
        address: of the holder.
        patience: seconds.
        enough: whether the epoch is over.
    """
    most = room_for(own.replica.state())
    state = puller.copy(address, Copy(new.term, new.epoch, new.base), patience, enough, most)
    if state is None:
        return False
    own.replica.load(state)
    own.flat.rebase()
    own.log.restart(own.replica.version, state["chain"], Positions.at(state["positions"]))
    return True
