"""A closed round and a settled gradient as lines of `rounds.jsonl`, and back.

{"kind": "round", …}      a closed round, lists by worker; null where a number is not known or not finite
{"kind": "settled", …}    what became of a gradient that was pending when its round closed, and its run time
{"kind": "back", …}       the run went back to an older version, because parameters were lost; why
{"kind": "skipped", …}    the gradients that a round had taken were lost before they were added; why
{"kind": "end", …}        how it ended; a record without this line is of a run that was interrupted
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, TypeVar, cast

import numpy as np

from tailcut.events import Settle
from tailcut.typed_values import flags, numbers, typed, whole_numbers
from tailcut.types import (
    Fate,
    FloatArray,
    IntArray,
    Measured,
    Roster,
    RoundRecord,
    RunTimes,
    Seconds,
    WorkerId,
)

T = TypeVar("T")

BY_WORKER = ("nodes", "busy", "arrivals", "accepted", "shares", "fates", "seconds", "observed")


@dataclass(frozen=True, slots=True)
class _RoundHead:
    """The numbers of a round that its gradients do not change."""

    version: int
    opened: Seconds
    elapsed: Seconds
    overhead: Seconds


@dataclass(frozen=True, slots=True)
class _RoundTail:
    """The weights of a round's forecasts, and the measurements of its gradients."""

    weights: dict[str, float]
    measured: Measured | None


@dataclass(frozen=True, slots=True)
class _Settled:
    """A settled gradient as its line tells it."""

    version: int
    worker: WorkerId
    fate: str
    seconds: Seconds


def round_line(record: RoundRecord) -> dict[str, Any]:
    """Return a closed round as it is written."""
    seconds, observed = aligned(record)
    return {
        "kind": "round",
        "version": record.version,
        "opened": record.opened,
        "elapsed": record.elapsed,
        "overhead": record.overhead,
        "workers": record.roster.workers.tolist(),
        "nodes": record.roster.nodes.tolist(),
        "busy": _nulls(record.roster.busy),
        "arrivals": _nulls(record.arrivals),
        "accepted": record.accepted.tolist(),
        "shares": record.shares.tolist(),
        "fates": [Fate(fate).name.lower() for fate in record.fates.tolist()],
        "seconds": _nulls(seconds),
        "observed": observed.tolist(),
        "staleness": record.staleness.tolist(),
        "weights": dict(record.weights),
        "measured": None if record.measured is None else asdict(record.measured),
    }


def without_gradients(record: RoundRecord) -> RoundRecord:
    """Return a round as one whose accepted gradients were lost."""
    fates = np.where(record.fates == Fate.USED, Fate.LOST, record.fates)
    return replace(
        record, accepted=np.zeros_like(record.accepted), fates=fates, staleness=record.staleness[:0]
    )


def aligned(record: RoundRecord) -> tuple[FloatArray, np.ndarray[Any, np.dtype[np.bool_]]]:
    """Return run times by worker of the roster, NaN where unknown, and whether each was observed itself."""
    ids, known = record.roster.workers, record.run_times
    seconds, observed = np.full(len(ids), np.nan), np.zeros(len(ids), dtype=np.bool_)
    # Workers of the roster increase, and run times are of some of them.
    where = np.searchsorted(ids, known.workers)
    seconds[where], observed[where] = known.seconds, known.observed
    return seconds, observed


def round_of(values: dict[str, Any]) -> RoundRecord:
    """Return the closed round in the values of a line.

    Raises:
        ValueError, TypeError, KeyError: they are none.
    """
    head = _part(_RoundHead, values, finite=True)
    # Measurements of gradients may be infinite or NaN: the training diverged.
    shown = _part(_RoundTail, values, finite=False)
    _check_lengths(values)
    ids, nodes = _ints(values, "workers"), _ints(values, "nodes")
    seconds = _floats(values, "seconds", math.nan)
    observed = np.array(flags("observed", values["observed"]), dtype=np.bool_)
    known = ~np.isnan(seconds)
    record = RoundRecord(
        version=head.version,
        opened=head.opened,
        elapsed=head.elapsed,
        overhead=head.overhead,
        roster=Roster(ids, nodes, _floats(values, "busy", math.nan)),
        arrivals=_floats(values, "arrivals", math.inf),
        accepted=_ints(values, "accepted"),
        shares=_floats(values, "shares", math.nan),
        fates=np.array([Fate[fate.upper()] for fate in values["fates"]], dtype=np.int64),
        run_times=RunTimes(ids[known], seconds[known], observed[known], nodes[known]),
        staleness=_ints(values, "staleness"),
        weights=tuple(shown.weights.items()),
        measured=shown.measured,
    )
    _check(record)
    return record


def settled_line(settle: Settle) -> dict[str, Any]:
    """Return a settled gradient as it is written."""
    return {
        "kind": "settled",
        "version": settle.version,
        "worker": settle.worker,
        "fate": settle.fate.name.lower(),
        "seconds": settle.run_time,
    }


def settled_of(values: dict[str, Any]) -> Settle:
    """Return the settled gradient in the values of a line.

    Raises:
        ValueError, TypeError, KeyError: they are none.
    """
    told = _part(_Settled, values, finite=False)
    if told.worker < 0 or told.version < 0:
        raise ValueError(f"no worker {told.worker} has settled a gradient of version {told.version}")
    return Settle(told.worker, told.version, Fate[told.fate.upper()], told.seconds)


def _part(kind: type[T], values: dict[str, Any], finite: bool) -> T:
    """Return those values of a line that a dataclass has fields for."""
    return typed(kind, {each.name: values[each.name] for each in fields(cast(Any, kind))}, finite)


def _check_lengths(values: dict[str, Any]) -> None:
    """Raise unless all lists have one value for each worker."""
    n = len(values["workers"])
    if any(len(values[name]) != n for name in BY_WORKER):
        raise ValueError(f"its lists are not all of {n} workers")


def _check(record: RoundRecord) -> None:
    """Raise a ValueError for what no round can be."""
    if record.version < 0:
        raise ValueError(f"its version is {record.version}")
    if (np.diff(record.roster.workers, prepend=-1) <= 0).any():
        raise ValueError("its workers do not increase from 0")
    if record.elapsed < 0.0:
        raise ValueError(f"it lasted {record.elapsed} s from {record.opened} s")
    counts = (record.accepted, record.shares, record.staleness)
    if any((each < 0).any() for each in counts):
        raise ValueError("a count or a share of its gradients is negative")
    if not (record.run_times.seconds > 0.0).all():
        raise ValueError("a run time is not more than 0")


def _nulls(values: FloatArray) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values.tolist()]


def _floats(values: dict[str, Any], name: str, unknown: float) -> FloatArray:
    return np.array(numbers(name, values[name], unknown), dtype=np.float64)


def _ints(values: dict[str, Any], name: str) -> IntArray:
    return np.array(whole_numbers(name, values[name]), dtype=np.int64)
