"""The notes of a worker while it trains: every step, and every evaluation of the net. Kept as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import final

from tailcut.engines.look import Look
from tailcut.types import Seconds


@final
@dataclass(frozen=True, slots=True)
class Step:
    """One mini-batch of a worker.

    Attributes:
        version: number of updates of its parameters afterwards.
        seconds: seconds since the arm began.
        accepted: whether its gradient is in an update.
        count: gradients in that update; 0 where its own is not in it.
        waited: seconds it waited for others.
    """

    version: int
    seconds: Seconds
    accepted: bool
    count: int
    waited: Seconds


@final
@dataclass(slots=True)
class Notes:
    """All notes of one worker in one arm."""

    steps: list[Step] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)

    def write(self, path: Path) -> None:
        """Write the notes to a file."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")


def read_notes(path: Path) -> Notes:
    """Read the notes that `Notes.write` wrote."""
    told = json.loads(path.read_text(encoding="utf-8"))
    return Notes([Step(**step) for step in told["steps"]], [Look(**look) for look in told["looks"]])
