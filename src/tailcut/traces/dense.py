"""Dense npz files: one array `x[rounds, workers]`, as the table is in memory, and a few optional arrays."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tailcut.bounded_files import open_file
from tailcut.errors import TableError, one_line
from tailcut.table import Table
from tailcut.traces.checks import refuse_cells, refuse_names, refuse_shape, refuse_unobserved
from tailcut.traces.limits import refuse_too_many
from tailcut.traces.names import Name, integer_or_text, number_nodes
from tailcut.traces.npz_members import Header, Members, opened, quiet
from tailcut.traces.unpivot import is_mixed
from tailcut.types import NO_NODE, BoolArray, FloatArray, IntArray

X, OBSERVED, PRESENT, NODES, NAMES, NAME_IS_INT = "x", "observed", "present", "nodes", "names", "name_is_int"


def read_dense(path: Path, source: str) -> Table:
    """Read a table from an npz file; pickled objects are never loaded."""
    with open_file(path) as file, opened(file, source) as members:
        shape = _shape(members, source)
        names = _names(members, shape[1], source)
        refuse_shape(shape[0], names, source)
        present = _flags(members, PRESENT, shape, source)
        observed = _flags(members, OBSERVED, shape, source)
        nodes = _nodes(members, shape[1], source)
        seconds = _seconds(members)
    refuse_cells(seconds, present, X, source)
    seconds[~present] = np.nan
    observed &= present
    refuse_unobserved(observed, source)
    return Table(seconds, observed, names, nodes, source)


def write_dense(table: Table, file: IO[bytes], source: str) -> None:
    """Write `table` as an npz file; arrays that hold only default values are left out."""
    present = ~np.isnan(table.seconds)
    arrays: dict[str, NDArray[Any]] = {X: table.seconds}
    if not present.all():
        arrays[PRESENT] = present
    if not table.observed[present].all():
        arrays[OBSERVED] = table.observed & present
    if (table.nodes != NO_NODE).any():
        arrays[NODES] = table.nodes
    if table.names != tuple(range(table.workers)):
        arrays[NAMES] = np.array(table.names if not is_mixed(table.names) else [str(n) for n in table.names])
    if is_mixed(table.names):
        arrays[NAME_IS_INT] = np.array([isinstance(name, int) for name in table.names])
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


def _shape(members: Members, source: str) -> tuple[int, int]:
    """Return the numbers of rounds and workers, from the header of `x` alone."""
    if X not in members:
        listed = one_line(", ".join(map(repr, members.names)))
        raise TableError(
            source,
            f"there is no such array, only {listed}" if listed else "the file has no arrays",
            remedy="save the run times as x[rounds, workers], in seconds",
            column=X,
        )
    header = members.header(X)
    if header.dtype.kind not in "fiu":
        raise _wrong_type(header, X, "real numbers", source)
    if len(header.shape) != 2:
        problem = "the array must have 2 dimensions, rounds and workers"
        raise _wrong_shape(header, X, problem, source)
    rounds, workers = header.shape
    refuse_too_many(rounds * workers, f"{rounds:,} rounds of {workers:,} workers", source)
    return rounds, workers


def _seconds(members: Members) -> FloatArray:
    with quiet():
        return members.load(X).astype(np.float64, order="C")


def _flags(members: Members, name: str, shape: tuple[int, int], source: str) -> BoolArray:
    """Return `(rounds, workers)` flags, all true if the file does not have the array."""
    if name not in members:
        return np.ones(shape, dtype=np.bool_)
    _refuse(members.header(name), name, shape, "b", "true and false", source)
    return np.array(members.load(name), dtype=np.bool_, order="C")


def _refuse(header: Header, name: str, shape: tuple[int, ...], kinds: str, what: str, source: str) -> None:
    if header.dtype.kind not in kinds:
        raise _wrong_type(header, name, what, source)
    if header.shape != shape:
        raise _wrong_shape(header, name, f"the array must have the shape {shape} that x asks for", source)


def _wrong_type(header: Header, name: str, what: str, source: str) -> TableError:
    problem = f"the array must hold {what}, but its type is {one_line(header.dtype, 60)}"
    return TableError(source, problem, remedy=f"convert it to {what}", column=name)


def _wrong_shape(header: Header, name: str, problem: str, source: str) -> TableError:
    return TableError(source, problem, remedy="reshape it", column=name, value=header.shape)


def _labels(members: Members, name: str, workers: int, source: str) -> list[Name]:
    """One text or integer per worker."""
    _refuse(members.header(name), name, (workers,), "iuU", "text or integers", source)
    array = members.load(name)
    try:
        labels: list[Name] = array.tolist()
    except (ValueError, SystemError) as error:
        remedy = "write or copy the file again"
        raise TableError(source, "the text is not valid Unicode", remedy=remedy, column=name) from error
    return labels


def _nodes(members: Members, workers: int, source: str) -> IntArray:
    if NODES not in members:
        return np.full(workers, NO_NODE, dtype=np.int64)
    return number_nodes(
        [None if label == "" else label for label in _labels(members, NODES, workers, source)]
    )


def _names(members: Members, workers: int, source: str) -> tuple[Name, ...]:
    if NAMES not in members:
        return tuple(range(workers))
    names = _labels(members, NAMES, workers, source)
    if NAME_IS_INT in members:
        names = _typed_names(names, members, source)
    refuse_names(names, NAMES, source)
    return tuple(names)


def _typed_names(names: list[Name], members: Members, source: str) -> list[Name]:
    """Return `names` with integers where the file marks a name as an integer."""
    _refuse(members.header(NAME_IS_INT), NAME_IS_INT, (len(names),), "b", "true and false", source)
    flags = members.load(NAME_IS_INT).tolist()
    typed = [integer_or_text(str(name)) if flag else name for name, flag in zip(names, flags, strict=True)]
    for name, flag in zip(typed, flags, strict=True):
        if flag and not isinstance(name, int):
            problem = "a name said to be an integer must be spelt as one"
            raise TableError(source, problem, remedy=f"correct {NAME_IS_INT}", column=NAMES, value=name)
    return typed
