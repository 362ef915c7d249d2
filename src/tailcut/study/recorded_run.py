"""The folder of a live run as a source: its run times under every policy."""

from __future__ import annotations

from pathlib import Path

from tailcut.engines.records.read import read_run
from tailcut.engines.records.replayable import Replayable, replayable
from tailcut.study.source import Recorded


def recorded_run(folder: str) -> Recorded:
    """Return the source of a recorded run; late workers and the overhead are as they were in the run.

    Raises:
        InputError: the folder holds no run, or one that cannot be read.
    """
    run = read_run(Path(folder))
    played = replayable(run)
    about = f"a live run of {run.asked.policy}, {played.closed} rounds of {run.asked.workers} workers{_less(played)}"
    return Recorded(folder, about, played.table, played.overhead, played.late_finish)


def _less(played: Replayable) -> str:
    """Return the reason why the table has fewer rounds than the run; empty if it has as many."""
    if played.shortest is None:
        return ""
    return f"; {played.table.rounds} of them can be replayed, as many as worker {played.shortest} began on"
