"""The folder of a live run as a source: its run times under every policy."""

from __future__ import annotations

from pathlib import Path

from tailcut.engines.records.read import read_run
from tailcut.engines.records.replayable import Replayable, replayable
from tailcut.study.source import Recorded


def recorded_run(folder: str) -> Recorded:
    """A recorded run; late workers and the overhead are as they were in it.

    Raises:
        InputError: the folder holds no run, or one that cannot be read.
    """
    run = read_run(Path(folder))
    played = replayable(run)
    about = f"a live run of {run.asked.policy}, {played.closed} rounds of {run.asked.workers} workers{_less(played)}"
    return Recorded(folder, about, played.table, played.overhead, played.late_finish)


def _less(played: Replayable) -> str:
    """Why the table has fewer rounds, if it has."""
    if played.shortest is None:
        return ""
    return f"; {played.table.rounds} of them can be replayed, as many as worker {played.shortest} began on"
