"""Collect the finished runs in a study's folder, with a note on everything that cannot be read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from tailcut.engines.simulated.meter import Point
from tailcut.errors import InputError
from tailcut.study.grid.config import Study, read_study
from tailcut.study.grid.journal import End, Head, Journal, read_journal
from tailcut.types import FloatArray

Key: TypeAlias = tuple[str, str, str, int]
"""Task, cluster, arm and seed."""

NAMED = 5
"""Most files that a note names; it only counts the others."""
ENDINGS = ("reached", "not reached", "diverged")


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """The evaluations of the net along a run, all `(points,)`; NaN where unknown.

    Attributes:
        seconds, updates: virtual seconds and number of updates at each evaluation.
        figure: the figure that the target is about.
        loss: loss of the task.
        cutoff, rate, noise: same as in a `Point`; an infinite noise scale counts as unknown.
        true_noise: the noise scale, where the task knows it.
    """

    seconds: FloatArray
    updates: FloatArray
    figure: FloatArray
    loss: FloatArray
    cutoff: FloatArray
    rate: FloatArray
    noise: FloatArray
    true_noise: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class FinishedRun:
    """One finished run.

    Attributes:
        head: settings of the run.
        end: its ending and totals.
        track: evaluations along the run.
        final: figures at the last evaluation.
    """

    head: Head
    end: End
    track: Track
    final: dict[str, float]

    @property
    def key(self) -> Key:
        """The task, cluster, arm and seed of the run."""
        return (self.head.task, self.head.cluster, self.head.arm, self.head.seed)


@dataclass(frozen=True, slots=True, eq=False)
class Collected:
    """The contents of a study's folder.

    Attributes:
        name: name of the study, or of the folder.
        study: None where the folder has no `study.toml` that can be read.
        runs: finished runs.
        notes: whole sentences on runs and files that were left out.
    """

    name: str
    study: Study | None
    runs: tuple[FinishedRun, ...]
    notes: tuple[str, ...]


def collect(folder: Path) -> Collected:
    """Read all journals under `folder/runs`.

    Raises:
        InputError: there is no such folder, or nothing finished that can be read in it.
    """
    paths = sorted(path for path in folder.glob("runs/**/*.jsonl"))
    if not paths:
        raise InputError(_nothing_there(folder))
    study, notes = _study(folder)
    runs: dict[Key, FinishedRun] = {}
    unfinished: list[Path] = []
    damaged: list[str] = []
    twice: list[Path] = []
    for path in paths:
        try:
            run = read_run(path)
        except InputError as problem:
            damaged.append(str(problem))
            continue
        if run is None:
            unfinished.append(path)
        elif run.key in runs:
            twice.append(path)
        else:
            runs[run.key] = run
    notes += [*damaged[:NAMED], *_more(damaged)]
    notes += _about(folder, unfinished, "not finished")
    notes += _about(folder, twice, "of a task, cluster, arm and seed that another journal has told of")
    if not runs:
        raise InputError(f"{folder} holds no finished run that can be read. {' '.join(notes)}")
    name = folder.resolve().name if study is None else study.name
    return Collected(name, study, tuple(runs.values()), tuple(notes))


def read_run(path: Path) -> FinishedRun | None:
    """Return the run of a journal; None if it was interrupted.

    Raises:
        InputError: the journal is damaged; the message says where.
    """
    try:
        journal = read_journal(path)
        return None if journal.end is None else _finished(journal)
    except InputError:
        raise
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as problem:
        raise InputError(
            f"{path} is damaged ({problem}). Delete the file and run the study again: only that run is repeated."
        ) from problem


def _finished(journal: Journal) -> FinishedRun:
    """Return the run of a journal after checking every value: a file can hold anything."""
    head, points, end = journal.head, journal.points, journal.end
    assert end is not None
    _check_head(head)
    _check_end(head, end)
    for point in points:
        _check_shares(point.idle, point.staleness)
        if point.gradients < 0.0 or point.cutoff < 0.0 or point.rate < 0.0:
            raise ValueError(f"a figure of the point at {point.seconds} s is negative")
    figures = [_figures(point, head.figure) for point in points]
    track = Track(
        seconds=np.array([point.seconds for point in points], dtype=np.float64),
        updates=np.array([point.updates for point in points], dtype=np.float64),
        figure=_finite([each[head.figure] for each in figures]),
        loss=_finite([each.get("loss", np.nan) for each in figures]),
        cutoff=_finite([point.cutoff for point in points]),
        rate=_finite([point.rate for point in points]),
        noise=_finite([np.nan if p.noise is None else p.noise for p in points]),
        true_noise=_finite([each.get("noise_scale", np.nan) for each in figures]),
    )
    for name in ("seconds", "updates"):
        steps = np.diff(getattr(track, name), prepend=0.0)
        if not (np.isfinite(steps).all() and (steps >= 0.0).all()):
            raise ValueError(f"{name} run backwards")
    return FinishedRun(head, end, track, figures[-1] if figures else {})


def _check_head(head: Head) -> None:
    if head.workers < 1 or head.parameters < 0:
        raise ValueError(f"{head.workers} workers, {head.parameters} parameters")
    if not (np.isfinite(head.value) and np.isfinite(head.overhead)):
        raise ValueError(f"a target of {head.value}, an overhead of {head.overhead}")


def _check_end(head: Head, end: End) -> None:
    totals = end.totals
    if end.ending not in ENDINGS:
        raise ValueError(f"the ending is {end.ending!r}")
    counts = [
        end.seconds_to_target,
        totals.seconds,
        totals.updates,
        totals.gradients,
        totals.late,
        totals.dropped,
    ]
    if min(counts) < 0 or end.seconds_to_target == 0:
        raise ValueError("a figure of the end is negative, or the target was reached at once")
    _check_shares(totals.idle, totals.staleness)
    reached = end.ending == "reached"
    if reached != np.isfinite(end.seconds_to_target) or reached != (type(end.updates_to_target) is int):
        raise ValueError(f"{end.ending} after {end.seconds_to_target} s, {end.updates_to_target} updates")
    if totals.accepted.shape != (head.workers,) or (totals.accepted < 0).any():
        raise ValueError(f"accepted does not count the gradients of {head.workers} workers")


def _check_shares(idle: float, staleness: float) -> None:
    # A share of rounded times may exceed 1 by a little. Unknown values are NaN, which no comparison refuses.
    if idle < 0.0 or idle > 1.0 + 1e-6 or staleness < 0.0:
        raise ValueError(f"workers were idle for {idle} of the time, and gradients {staleness} rounds late")


def _figures(point: Point, wanted: str) -> dict[str, float]:
    if wanted not in point.figures:
        raise ValueError(f"a point without the figure {wanted}")
    return point.figures


def _finite(values: Iterable[float]) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    return np.where(np.isfinite(array), array, np.nan)


def _study(folder: Path) -> tuple[Study | None, list[str]]:
    path = folder / "study.toml"
    if not path.exists():
        return None, []
    try:
        return read_study(path), []
    except InputError as problem:
        return None, [f"{problem} Nothing is held against a best static arm."]


def _nothing_there(folder: Path) -> str:
    if not folder.exists():
        return f"{folder} does not exist. Give the folder of a study."
    if not folder.is_dir():
        return f"{folder} is no folder. Give the folder of a study."
    return f"{folder} holds no journals (runs/**/*.jsonl). Give the folder of a study that has begun."


def _about(folder: Path, paths: list[Path], what: str) -> list[str]:
    if not paths:
        return []
    names = [str(path.relative_to(folder)) for path in paths[:NAMED]]
    rest = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    count = "1 run is" if len(paths) == 1 else f"{len(paths)} runs are"
    return [f"{count} {what} and left out: {', '.join(names)}{rest}."]


def _more(damaged: list[str]) -> list[str]:
    return [f"{len(damaged) - NAMED} more journals are damaged."] if len(damaged) > NAMED else []
