"""Runs in virtual time, with the controller's real logic, recorded in real folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.engines.live.hub_scripts import Fleet

from tailcut.engines.live.controller.hub import Hub
from tailcut.engines.records.asked import Asked
from tailcut.engines.records.files import RunFolder
from tailcut.engines.records.listener import Listener
from tailcut.engines.records.run_files import RunFiles
from tailcut.names import entrant
from tailcut.round import Rounds
from tailcut.table import Table


def asked(workers: int = 3, policy: str = "wait-all", late: str = "finish", **more: Any) -> Asked:
    given = {"total": None, "tailcut": "0.1.0", "started": "2030-01-01T00:00:00+00:00", "clock": 0.0}
    return Asked(policy, "linear", late, workers, host="here", process=7, **(given | more))


def hub_of(table: Table, policy: str, late: str, listener: Listener) -> Hub:
    rounds = Rounds(entrant(policy).policy, late_finish=late == "finish")
    return Hub(rounds, table.workers, records=listener.round, settled=listener.settled)


def record(
    folder: Path, table: Table, policy: str = "wait-all", late: str = "finish", overhead: float = 0.0
) -> Path:
    """A run over all rows of a table, in a folder."""
    files = RunFiles(RunFolder(folder), asked(table.workers, policy, late), calendar=lambda: 0.0)
    hub = hub_of(table, policy, late, files)
    fleet = Fleet(hub, table, overhead)
    fleet.run(table.rounds)
    files.end(hub, fleet.now)
    return folder
