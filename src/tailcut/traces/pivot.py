"""Conversion of the rows of a long file to a table with one row per round and one column per worker."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailcut.errors import TableError, one_line
from tailcut.table import Table
from tailcut.traces.checks import bad_seconds, refuse_shape, refuse_unobserved
from tailcut.traces.names import Name, natural_order, number_nodes, problem_of
from tailcut.traces.place import NODE, SECONDS, WORKER, Place
from tailcut.traces.rows import Coded, Rows, first_true
from tailcut.types import NO_NODE, FloatArray, IntArray


def pivot(rows: Rows, place: Place) -> Table:
    """Return the table of `rows`, or raise a `TableError`.

    Rounds are sorted by number and workers put in natural order; a cell without a row is NaN.
    """
    if not len(rows):
        raise TableError(place.source, "there are no rows", remedy="give one row per round and worker")
    _refuse_seconds(rows.seconds, place)
    _refuse_names(rows.workers, place)
    rounds, line_of_row = _ranks(rows.rounds)
    names, column_of_row = _columns(rows.workers)
    refuse_shape(rounds, names, place.source)
    cell_of_row = line_of_row * len(names) + column_of_row
    _refuse_twice(cell_of_row, rounds * len(names), rows, place)
    nodes = _nodes(rows.nodes, column_of_row, len(names), place)
    return _fill(rows, cell_of_row, (rounds, len(names)), names, nodes, place.source)


def _refuse_seconds(seconds: FloatArray, place: Place) -> None:
    index = first_true(bad_seconds(seconds))
    if index is not None:
        raise place.refusal(
            index,
            SECONDS,
            "a run time must be finite and > 0 seconds",
            remedy="correct it, or drop the row if the worker took no part",
            value=float(seconds[index]),
        )


def _refuse_names(workers: Coded, place: Place) -> None:
    index = workers.first(lambda name: name is None or name == "")
    if index is not None:
        raise place.missing(index, WORKER)
    index = workers.first(lambda name: name is not None and problem_of(name) is not None)
    if index is not None:
        name = workers.label(index)
        assert name is not None
        raise place.refusal(index, WORKER, str(problem_of(name)), remedy="rename the worker", value=name)


def _ranks(rounds: IntArray) -> tuple[int, IntArray]:
    """Return the number of distinct rounds, and `(rows,)` the rank of each row's round."""
    # Hashing is several times faster than sorting millions of rows, of which few are distinct.
    coded = pa.array(rounds).dictionary_encode()
    distinct = coded.dictionary.to_numpy()
    rank = np.empty(len(distinct), dtype=np.int64)
    rank[np.argsort(distinct)] = np.arange(len(distinct))
    return len(distinct), rank[coded.indices.to_numpy()]


def _columns(workers: Coded) -> tuple[tuple[Name, ...], IntArray]:
    """Return the workers' names in natural order, and `(rows,)` the column of each row's worker."""
    names = [name for name in workers.labels if name is not None]
    order = natural_order(names)
    column = np.empty(len(names), dtype=np.int64)
    column[order] = np.arange(len(names))
    return tuple(names[i] for i in order), column[workers.codes]


def _refuse_twice(cell_of_row: IntArray, cells: int, rows: Rows, place: Place) -> None:
    seen = np.zeros(cells, dtype=np.bool_)
    seen[cell_of_row] = True
    if int(np.count_nonzero(seen)) == len(cell_of_row):
        return
    _, firsts = np.unique(cell_of_row, return_index=True)
    again = np.ones(len(cell_of_row), dtype=np.bool_)
    again[firsts] = False
    index = int(again.argmax())
    earlier = int((cell_of_row == cell_of_row[index]).argmax())
    raise place.refusal(
        index,
        WORKER,
        f"a worker must have one row per round, and row {place.row_of(earlier)} already gives "
        f"round {rows.rounds[index]} of this one",
        remedy="keep one row per round and worker",
        value=rows.workers.label(index),
    )


def _nodes(nodes: Coded | None, column_of_row: IntArray, workers: int, place: Place) -> IntArray:
    """Return `(workers,)` node numbers; raise if a worker has two nodes."""
    if nodes is None:
        return np.full(workers, NO_NODE, dtype=np.int64)
    first_row = np.full(workers, len(column_of_row), dtype=np.int64)
    np.minimum.at(first_row, column_of_row, np.arange(len(column_of_row)))
    code_of_worker = nodes.codes[first_row]
    index = first_true(nodes.codes != code_of_worker[column_of_row])
    if index is not None:
        raise _moved(nodes, index, int(first_row[column_of_row[index]]), place)
    return number_nodes([nodes.labels[code] for code in code_of_worker])


def _moved(nodes: Coded, index: int, before: int, place: Place) -> TableError:
    then, now = nodes.label(before), nodes.label(index)
    said = "no node" if then is None else f"node {one_line(repr(then), 60)}"
    return place.refusal(
        index,
        NODE,
        f"a worker stays on one node, and its row {place.row_of(before)} says {said}",
        remedy="give a worker that moved a new name, or correct its node",
        value="" if now is None else now,
    )


def _fill(
    rows: Rows,
    cell_of_row: IntArray,
    shape: tuple[int, int],
    names: tuple[Name, ...],
    nodes: IntArray,
    source: str,
) -> Table:
    seconds = np.full(shape, np.nan)
    observed = np.zeros(shape, dtype=np.bool_)
    seconds.reshape(-1)[cell_of_row] = rows.seconds
    observed.reshape(-1)[cell_of_row] = True if rows.observed is None else rows.observed
    refuse_unobserved(observed, source)
    return Table(seconds, observed, names, nodes, source)
