"""The folder of a chaos run: the names of its files, which `job.py` also uses."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import final

from tailcut.testing.chaos.faults import Fault, Plan
from tailcut.types import Seconds

_PARTS = ("journals", "pids", "armed", "struck", "disk")


@final
@dataclass(frozen=True, slots=True)
class Folder:
    """The files by which a run and the process that watches it communicate."""

    root: Path

    @property
    def journals(self) -> Path:
        """The folder of the workers' journals."""
        return self.root / "journals"

    @property
    def strikes(self) -> Path:
        """The folder with a file for every fault that was carried out."""
        return self.root / "struck"

    @property
    def said(self) -> Path:
        """The file with the output of all processes."""
        return self.root / "said.txt"

    @property
    def disk(self) -> Path:
        """The folder that the engine writes to: the controller's journal, and checkpoints."""
        return self.root / "disk"

    @property
    def kept(self) -> Path:
        """The folder of checkpoints."""
        return self.disk / "kept"

    def prepare(self, plan: Plan) -> None:
        """Create the folder, with the plan in it."""
        for part in _PARTS:
            (self.root / part).mkdir(parents=True, exist_ok=True)
        plan.write(self.root / "plan.json")

    def arm(self, fault: Fault, version: int) -> None:
        """Allow a fault to strike from this version on."""
        self._put(f"armed/{fault.number}", str(version))

    def disarm(self, fault: Fault) -> None:
        """Forbid a fault to strike."""
        (self.root / "armed" / str(fault.number)).unlink(missing_ok=True)

    def has_struck(self, fault: Fault) -> bool:
        """Return whether a fault was carried out."""
        return (self.strikes / str(fault.number)).exists()

    def note_struck(self, fault: Fault, worker: int, pid: int, version: int, now: Seconds) -> None:
        """Note that a fault is carried out now, from outside."""
        told = {**asdict(fault), "worker": worker, "version": version, "pid": pid, "at": now}
        self._put(f"struck/{fault.number}", json.dumps(told))

    def struck_by(self, fault: Fault) -> int:
        """Return the process id of the victim of a fault that was carried out."""
        return int(json.loads((self.strikes / str(fault.number)).read_text())["pid"])

    def note_controller(self, pid: int) -> None:
        """Note the process id of the present controller."""
        self._put("pids/-2", str(pid))

    def announce_end(self, version: int) -> None:
        """Let all workers leave at this version, which none has reached yet."""
        self._put("end", str(version))

    def _put(self, name: str, text: str) -> None:
        draft = self.root / f".{os.getpid()}"
        draft.write_text(text)
        draft.replace(self.root / name)
