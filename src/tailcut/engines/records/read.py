"""Read the record of a run, finished or broken off."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailcut.engines.records.asked import Asked, read_asked
from tailcut.engines.records.files import RunFolder
from tailcut.engines.records.lines import round_of, settled_of, without_gradients
from tailcut.errors import InputError
from tailcut.events import Settle
from tailcut.json_lines import take_lines
from tailcut.types import RoundRecord


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended: at which version, and why it failed; None where it ended as it should."""

    version: int
    why: str | None


@dataclass(frozen=True, slots=True, eq=False)
class RecordedRun:
    """A run as its folder tells it.

    Attributes:
        folder: where it lies.
        asked: what was asked for.
        lines: closed rounds and settled gradients, in the order in which the controller learnt of them.
        ending: how it ended; None if it was broken off, or still runs.
        returns: versions that it went back to, in order; rounds after them that were undone are not in `lines`.
    """

    folder: Path
    asked: Asked
    lines: tuple[RoundRecord | Settle, ...]
    ending: Ending | None
    returns: tuple[int, ...] = ()

    @property
    def rounds(self) -> list[RoundRecord]:
        """Closed rounds, in order."""
        return [line for line in self.lines if isinstance(line, RoundRecord)]


def read_run(folder: Path) -> RecordedRun:
    """Read a run's folder. Its last line may have been cut off when the run was.

    Raises:
        InputError: it holds no run, or something in it is damaged; the message says what.
    """
    files, read = RunFolder(folder), _Read()
    asked = read_asked(files.run)
    remedy = "Delete the line to read the rest, or record another run."
    try:
        # What is no text at all is no JSON either, and is told by its line.
        with files.rounds.open(encoding="utf-8", errors="replace") as lines:
            take_lines(lines, read.take, files.rounds, remedy)
    except OSError as error:
        raise InputError(
            f"{files.rounds} cannot be read ({error.strerror}). Give the folder of a run with rounds."
        ) from error
    return RecordedRun(folder, asked, tuple(read.lines), read.ending, tuple(read.returns))


class _Read:
    """The lines so far."""

    def __init__(self) -> None:
        self.lines: list[RoundRecord | Settle] = []
        self.ending: Ending | None = None
        self.returns: list[int] = []
        self._newest = -1

    def take(self, number: int, values: dict[str, Any]) -> None:
        """One more."""
        del number
        match values.pop("kind"):
            case "round":
                self._round(round_of(values))
            case "settled":
                self.lines.append(settled_of(values))
            case "back":
                self._back(int(values["version"]))
            case "skipped":
                self._skip(int(values["version"]))
            case "end":
                self.ending = Ending(int(values["version"]), values["why"])
            case kind:
                raise ValueError(f"a line of kind {kind!r} does not belong there")

    def _back(self, version: int) -> None:
        """What was made after that version is undone."""
        self.lines = [line for line in self.lines if line.version < version]
        self._newest = version - 1
        self.returns.append(version)

    def _skip(self, version: int) -> None:
        """What the round of that version had taken was lost."""
        self.lines = [
            without_gradients(line) if isinstance(line, RoundRecord) and line.version == version else line
            for line in self.lines
        ]

    def _round(self, record: RoundRecord) -> None:
        if record.version <= self._newest:
            raise ValueError(f"round {record.version} comes after round {self._newest}")
        self._newest = record.version
        self.lines.append(record)
