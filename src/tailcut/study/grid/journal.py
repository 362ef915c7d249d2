"""The journal of one training: a file of JSON lines, written during the run.

{"kind": "head", …}      all settings of the run: the same head gives the same run
{"kind": "point", …}     one evaluation of the net
{"kind": "end", …}       the ending and the totals; without this line the run was interrupted
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

if TYPE_CHECKING:  # Reading journals does not need torch.
    from tailcut.engines.simulated.training import Trained

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Head:
    """The settings of a run.

    Attributes:
        task, cluster, policy: names as the user wrote them.
        arm: name of the arm in the study; tuning has chosen its policy and rate.
        rate_rule: name of the rule by which the learning rate depends on the gradients in an update.
        rate: base learning rate.
        optimiser: name of the optimizer.
        seed: seed of run times, data and first weights.
        workers: number of workers in the cluster.
        batch: samples in a worker's mini-batch.
        parameters: number of parameters of the net.
        figure, value, at: target: name of the figure, its value, and whether that is the `least` or `most`.
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
    """The end of a run.

    Attributes:
        ending: `reached`, `not reached` or `diverged`.
        seconds_to_target: virtual seconds, infinite where it was not reached.
        updates_to_target: number of updates, None where it was not reached.
        totals: totals of the whole run.
    """

    ending: str
    seconds_to_target: float
    updates_to_target: int | None
    totals: Totals


@dataclass(frozen=True, slots=True)
class _EndLine:
    """The values of an `end` line, as they are written to the file."""

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
    """A run as read from its journal; `end` is None if it was interrupted."""

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
        """Write one evaluation of the net."""
        self._line({"kind": "point", **asdict(point)})

    def end(self, trained: Trained) -> None:
        """Write the end of the run and close the file."""
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
        """Close the file."""
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
        """Add a line."""
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
