"""Read the record of a run, finished or interrupted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, final

from tailcut.bounded_files import read_lines
from tailcut.engines.records.asked import Asked, read_asked
from tailcut.engines.records.changes import Changes, changes_of
from tailcut.engines.records.files import RunFolder
from tailcut.engines.records.lines import round_of, settled_of, without_gradients
from tailcut.errors import InputError
from tailcut.events import Settle
from tailcut.json_lines import take_lines
from tailcut.types import RoundRecord


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a run: its version, and why the run failed; None where it ended as it should."""

    version: int
    why: str | None


@dataclass(frozen=True, slots=True, eq=False)
class RecordedRun:
    """A run as its folder tells it.

    Attributes:
        folder: the run's folder.
        asked: the settings of the run.
        lines: closed rounds and settled gradients, in the order in which the controller learnt of them.
        ending: how it ended; None if it was interrupted, or still runs.
        returns: versions that it went back to, in order; rounds after them that were undone are not in `lines`.
    """

    folder: Path
    asked: Asked
    lines: tuple[RoundRecord | Settle, ...]
    ending: Ending | None
    returns: tuple[int, ...] = ()

    @property
    def rounds(self) -> list[RoundRecord]:
        """Return the closed rounds, in order."""
        return [line for line in self.lines if isinstance(line, RoundRecord)]


def read_run(folder: Path) -> RecordedRun:
    """Read a run's folder. Its last line may have been cut off when the run was.

    Raises:
        InputError: it holds no run, or something in it is damaged; the message says what.
    """
    lines: list[RoundRecord | Settle] = []
    asked = read_asked(RunFolder(folder).run)

    def take(line: RoundRecord | Settle) -> None:
        _refuse_unknown(line, asked.workers)
        lines.append(line)

    read = hand_on(folder, take)
    return RecordedRun(folder, asked, tuple(lines), read.ending, tuple(read.returns))


def _refuse_unknown(line: RoundRecord | Settle, workers: int) -> None:
    """Raise a ValueError for a line of a worker that the run does not have."""
    # The workers of a roster increase.
    last = line.worker if isinstance(line, Settle) else max(line.roster.workers[-1:].tolist(), default=0)
    if last >= workers:
        raise ValueError(f"worker {last} is none of the run's {workers} workers, which are numbered from 0")


def hand_on(folder: Path, take: Callable[[RoundRecord | Settle], None]) -> Read:
    """Hand on every line that counts, one after the other: a record may be longer than there is memory for.

    Args:
        folder: folder of a run.
        take: is called with closed rounds and settled gradients, in the order in which the controller learnt
            of them.

    Raises:
        InputError: something is damaged; the message says what.
    """
    file = RunFolder(folder).rounds
    remedy = "Delete the line to read the rest, or record another run."
    try:
        changes = changes_of(file)
        read = Read(changes, take)
        # A run that goes on writes more meanwhile, which may take back some of this.
        take_lines(islice(read_lines(file), changes.lines), read.take, file, remedy)
    except OSError as error:
        raise InputError(
            f"{file} cannot be read ({error.strerror}). Give the folder of a run with rounds."
        ) from error
    return read


@final
class Read:
    """A reader of a record's lines, with the facts that it has read so far.

    Args:
        changes: changes of later lines to earlier ones.
        take: is called with each closed round and settled gradient that counts.

    Attributes:
        ending: how the run ended; None if it did not. returns: versions that it went back to.
    """

    def __init__(self, changes: Changes, take: Callable[[RoundRecord | Settle], None]) -> None:
        self.ending: Ending | None = None
        self.returns: list[int] = []
        self._changes, self._take, self._newest = changes, take, -1

    def take(self, number: int, values: dict[str, Any]) -> None:
        """Read one more line."""
        match values.pop("kind"):
            case "round":
                self._round(number, round_of(values))
            case "settled":
                settle = settled_of(values)
                if self._changes.stands(number, settle.version):
                    self._take(settle)
            case "back":
                version = int(values["version"])
                self._newest = version - 1
                self.returns.append(version)
            case "skipped":
                int(values["version"])
            case "end":
                self.ending = Ending(int(values["version"]), values["why"])
            case kind:
                raise ValueError(f"a line of kind {kind!r} does not belong there")

    def _round(self, number: int, record: RoundRecord) -> None:
        if record.version <= self._newest:
            raise ValueError(f"round {record.version} comes after round {self._newest}")
        self._newest = record.version
        if self._changes.stands(number, record.version):
            is_lost = self._changes.is_lost(number, record.version)
            self._take(without_gradients(record) if is_lost else record)
