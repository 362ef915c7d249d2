"""Scalars for TensorBoard, one point per closed round. TensorBoard is an extra."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, final

import numpy as np

from tailcut.engines.records.files import reason
from tailcut.engines.records.listener import Listener
from tailcut.engines.records.standing import Standing
from tailcut.errors import InputError
from tailcut.events import Settle
from tailcut.extras import require
from tailcut.types import RoundRecord, Seconds

FLUSH: Seconds = 2.0
"""Time after which points are handed to the operating system, in seconds."""


def scalars_of(record: RoundRecord) -> dict[str, float]:
    """Return the numbers that are drawn of a closed round, by name.

    cutoff: gradients used. seconds_per_round: from opening to the next opening. waited: mean seconds from
    arrival to close, of the workers that had arrived. gradients_per_second: partial ones by their share.
    accepted_share: share of the workers in the round that were accepted.
    """
    seconds = record.elapsed + record.overhead
    waits = record.elapsed - record.arrivals[np.isfinite(record.arrivals)]
    return {
        "cutoff": float(record.count),
        "seconds_per_round": seconds,
        "waited": float(waits.mean()) if len(waits) else 0.0,
        "gradients_per_second": record.value / seconds if seconds else 0.0,
        "accepted_share": float((record.accepted > 0).mean()),
    }


@final
class Scalars(Listener):
    """A listener that writes an event file of TensorBoard.

    Args:
        folder: folder of the file; every run writes one of its own.
        began: the clock's seconds at this moment.
        calendar: returns seconds since 1970; points are drawn over them.

    Raises:
        MissingExtraError: TensorBoard is not installed.
        InputError: the folder cannot be written.
    """

    def __init__(self, folder: Path, began: Seconds, calendar: Callable[[], Seconds] = time.time) -> None:
        self._event, self._summary, writer = _tensorboard()
        self._offset = calendar() - began
        self._next_flush = began
        name = f"events.out.tfevents.{calendar():010.0f}.{socket.gethostname()}.{os.getpid()}.tailcut"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = (folder / name).open("xb")
        except OSError as error:
            raise InputError(
                f"TensorBoard's scalars cannot be written to {folder} ({reason(error)}). Give another folder."
            ) from error
        self._writer = writer(self._file)
        self._write(self._event(wall_time=calendar(), file_version="brain.Event:2"))
        self._file.flush()

    def round(self, record: RoundRecord) -> None:
        """Add a point to each curve."""
        values = [
            self._summary.Value(tag=f"tailcut/{name}", simple_value=value)
            for name, value in scalars_of(record).items()
        ]
        moment = record.opened + record.elapsed + self._offset
        self._write(self._event(wall_time=moment, step=record.version, summary=self._summary(value=values)))

    def settled(self, settle: Settle) -> None:
        """Do nothing: settled gradients are not drawn."""

    def look(self, standing: Standing, now: Seconds) -> None:
        """Hand the points to the operating system, now and then."""
        if now >= self._next_flush:
            self._next_flush = now + FLUSH
            self._file.flush()

    def end(self, standing: Standing, now: Seconds) -> None:
        """Close the file."""
        self._file.close()

    def give_up(self) -> None:
        """Close the file, whatever the state."""
        with suppress(OSError):
            self._file.close()

    def _write(self, event: Any) -> None:
        self._writer.write(event.SerializeToString())


def _tensorboard() -> tuple[Any, Any, Any]:
    require("Writing scalars for TensorBoard", "tensorboard")
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.record_writer import RecordWriter

    return Event, Summary, RecordWriter
