"""Run-time tables in files: the seconds of each worker in each round.

    file ─▶ one reader per ending ─▶ rows ─▶ pivot ─▶ Table ─▶ unpivot ─▶ one writer per ending ─▶ file

The format follows from the file's ending:

| ending | layout |
|---|---|
| `.csv` | long, comma-separated UTF-8 with a header line |
| `.parquet` | long |
| `.jsonl`, `.ndjson` | long, one JSON object per line |
| `.npz` | dense NumPy arrays |

**Long** files hold one row per round and worker, in any order, with these columns; others are ignored.

- `round`: a 64-bit integer. Rounds are sorted by it and need not be contiguous; the table keeps only their
  order.
- `worker`: text or a 64-bit integer. Workers are put in natural order: integers first, by value, then text,
  its digits compared as numbers (`w2` before `w10`). In CSV, which has no types, what reads as an
  integer is one.
- `seconds`: finite and > 0.
- `observed` (optional): false where the run time is only known to exceed `seconds`. CSV: true, false, 1 or 0.
- `node` (optional): text or integer, the same in all rows of a worker. Nodes are numbered `0..k-1` in the
  order in which they first appear among the workers in natural order. Empty, null or -1: unknown (`NO_NODE`).

A (round, worker) pair without a row means that the worker took no part in that round. So a round or a worker
without any entry cannot be expressed in a long file: `write_table` refuses it there, and `.npz` takes it.

**Dense** files hold `x[rounds, workers]`, seconds; optionally `observed` and `present`, both boolean and of
the same shape, and `nodes` and `names`, one entry per worker, in the order of the columns of `x`. Where
`present` is false the worker took no part and the entry of `x` means nothing. `name_is_int` says which names
are integers, where some are and some are not. Nodes are numbered by first appearance here too.

Any error in a file is reported by one `TableError`, with file, row, column, value and remedy.
"""

from tailcut.traces.read import read_table
from tailcut.traces.write import write_table

__all__ = ["read_table", "write_table"]
