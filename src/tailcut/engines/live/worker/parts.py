"""What a worker in a run is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from tailcut.engines.live.data.buffer import FlatBuffer
from tailcut.engines.live.data.log import UpdateLog
from tailcut.engines.live.data.pulling import Puller
from tailcut.engines.live.worker.keeping import Keeping
from tailcut.engines.live.worker.link import Link
from tailcut.engines.live.worker.replica import Replica


@final
@dataclass(frozen=True, slots=True)
class Parts:
    """Of one member.

    Attributes:
        link: to the controller.
        replica, flat, log: what it trains with.
        puller: fetches what it missed.
        keeping: of checkpoints.
        offer: gives the state to whoever joins: its version and frames, or no longer.
    """

    link: Link
    replica: Replica
    flat: FlatBuffer
    log: UpdateLog
    puller: Puller
    keeping: Keeping
    offer: Callable[[int, list[bytes | memoryview] | None], None] = lambda version, frames: None
