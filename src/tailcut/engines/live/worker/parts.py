"""The objects that a worker in a run is made of."""

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
    """The objects that one worker is made of.

    Attributes:
        link: connection to the controller.
        replica, flat, log: what it trains with.
        puller: fetches the updates that it missed.
        keeping: the checkpoints of the run.
        offer: gives a state to workers that join: its version, and its frames or None to stop.
    """

    link: Link
    replica: Replica
    flat: FlatBuffer
    log: UpdateLog
    puller: Puller
    keeping: Keeping
    offer: Callable[[int, list[bytes | memoryview] | None], None] = lambda version, frames: None
