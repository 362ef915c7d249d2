"""The journal of one training: a file of JSON lines, written as the run goes.

{"kind": "head", …}      what is run, all of it: the same head gives the same run
{"kind": "point", …}     one look at the net
{"kind": "end", …}       how it ended; a journal without this line is of a run that was broken off
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from tailcut.bounded_files import read_lines
from tailcut.engines.simulated.meter import Point, Totals
from tailcut.errors import InputError
from tailcut.json_lines import line_of, take_lines
from tailcut.typed_values import typed

if TYPE_CHECKING:  # Whoever only reads journals does without torch.
    from tailcut.engines.simulated.training import Trained

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Head:
    """What is run.

    Attributes:
        task, cluster, policy: as the user named them.
        arm: what the study calls this way of training; tuning has chosen its policy and rate.
        rate_rule: how the learning rate follows what went into an update.
        rate: base learning rate.
        optimiser: of torch.
        seed: of run times, data and first weights.
        workers: of the cluster.
        batch: samples in a worker's mini-batch.
        parameters: of the net.
        figure, value, at: the target.
        late: whether late workers `abandon` their work or `finish` it.
        overhead: seconds between a close and the next opening.
        requeue: whether a dropped mini-batch is the worker's next one.
    """

    task: str
    cluster: str
    arm: str
    policy: str
    rate_rule: str
    rate: float
    optimiser: str
    seed: int
    workers: int
    batch: int
    parameters: int
    figure: str
    value: float
    at: str
    late: str
    overhead: float
    requeue: bool


@dataclass(frozen=True, slots=True, eq=False)
class End:
    """How a run ended.

    Attributes:
        ending: `reached`, `not reached` or `diverged`.
        seconds_to_target: of virtual time, infinite where it was not reached.
        updates_to_target: None where it was not reached.
        totals: of the whole run.
    """

    ending: str
    seconds_to_target: float
    updates_to_target: int | None
    totals: Totals


@dataclass(frozen=True, slots=True)
class _EndLine:
    """The values of an `end` line, as they are written."""

    ending: str
    seconds_to_target: float
    updates_to_target: int | None
    seconds: float
    updates: int
    gradients: float
    late: int
    dropped: int
    idle: float
    staleness: float
    accepted: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Journal:
    """A run as its journal tells it; `end` is None if it was broken off."""

    head: Head
    points: tuple[Point, ...]
    end: End | None


class Writer:
    """Writes a journal line by line."""

    def __init__(self, path: Path, head: Head) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: TextIO = path.open("w", encoding="utf-8")
        try:
            self._line({"kind": "head", "format": FORMAT, **asdict(head)})
        except BaseException:
            self.close()
            raise

    def point(self, point: Point) -> None:
        """One look at the net."""
        self._line({"kind": "point", **asdict(point)})

    def end(self, trained: Trained) -> None:
        """How it ended; nothing comes after."""
        told = {
            "ending": trained.ending,
            "seconds_to_target": trained.seconds_to_target,
            "updates_to_target": trained.updates_to_target,
            **{f.name: getattr(trained.totals, f.name) for f in fields(Totals)},
        }
        self._line({"kind": "end", **told})
        os.fsync(self._file.fileno())
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _line(self, values: Mapping[str, Any]) -> None:
        self._file.write(line_of(values))
        self._file.flush()


def read_journal(path: Path) -> Journal:
    """Read a journal.

    Raises:
        InputError: it cannot be read, or a line is not what it should be; the message names the line.
    """
    read = _Read()
    remedy = "Delete the file and run the study again: only that run is repeated."
    try:
        take_lines(read_lines(path), read.take, path, remedy, 1)
    except OSError as problem:
        raise InputError(
            f"{path} cannot be read: {problem.strerror}. Run the study again to make it anew."
        ) from problem
    if read.head is None:
        raise InputError(f"{path} is empty. Delete it and run the study again: only that run is repeated.")
    return Journal(read.head, tuple(read.points), read.end)


class _Read:
    """The lines of a journal so far."""

    def __init__(self) -> None:
        self.head: Head | None = None
        self.points: list[Point] = []
        self.end: End | None = None

    def take(self, number: int, values: dict[str, Any]) -> None:
        """One more."""
        match values.pop("kind"):
            case "head" if number == 1 and values.pop("format") == FORMAT:
                self.head = typed(Head, values, finite=False)
            case "point" if self.head is not None and self.end is None:
                self.points.append(typed(Point, values, finite=False))
            case "end" if self.head is not None and self.end is None:
                self.end = _end(values)
            case kind:
                raise ValueError(f"a line of kind {kind!r} does not belong there")


def _end(values: dict[str, Any]) -> End:
    told = typed(_EndLine, values, finite=False)
    sums = {each.name: getattr(told, each.name) for each in fields(Totals)}
    totals = Totals(**{**sums, "accepted": np.array(told.accepted, dtype=np.int64)})
    return End(told.ending, told.seconds_to_target, told.updates_to_target, totals)
