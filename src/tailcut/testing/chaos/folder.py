"""The folder of a chaos run: names of its files, which `job.py` knows too."""

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
    """Where a run and who watches it meet."""

    root: Path

    @property
    def journals(self) -> Path:
        """Of the workers."""
        return self.root / "journals"

    @property
    def strikes(self) -> Path:
        """A file for every fault that was carried out."""
        return self.root / "struck"

    @property
    def said(self) -> Path:
        """What everybody has printed."""
        return self.root / "said.txt"

    @property
    def disk(self) -> Path:
        """Where the engine writes: the controller's journal, and checkpoints."""
        return self.root / "disk"

    @property
    def kept(self) -> Path:
        """Checkpoints."""
        return self.disk / "kept"

    def prepare(self, plan: Plan) -> None:
        """Make it."""
        for part in _PARTS:
            (self.root / part).mkdir(parents=True, exist_ok=True)
        plan.write(self.root / "plan.json")

    def arm(self, fault: Fault, version: int) -> None:
        """From this version on it may strike."""
        self._put(f"armed/{fault.number}", str(version))

    def disarm(self, fault: Fault) -> None:
        """No longer."""
        (self.root / "armed" / str(fault.number)).unlink(missing_ok=True)

    def has_struck(self, fault: Fault) -> bool:
        """Whether it was carried out."""
        return (self.strikes / str(fault.number)).exists()

    def note_struck(self, fault: Fault, worker: int, pid: int, version: int, now: Seconds) -> None:
        """It is carried out now, from outside."""
        told = {**asdict(fault), "worker": worker, "version": version, "pid": pid, "at": now}
        self._put(f"struck/{fault.number}", json.dumps(told))

    def struck_by(self, fault: Fault) -> int:
        """The process that a fault has struck."""
        return int(json.loads((self.strikes / str(fault.number)).read_text())["pid"])

    def note_controller(self, pid: int) -> None:
        """Who that is now."""
        self._put("pids/-2", str(pid))

    def announce_end(self, version: int) -> None:
        """Let everybody leave at a version that nobody has come to yet."""
        self._put("end", str(version))

    def _put(self, name: str, text: str) -> None:
        draft = self.root / f".{os.getpid()}"
        draft.write_text(text)
        draft.replace(self.root / name)
