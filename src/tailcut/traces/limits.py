"""Limits on the size of a table, which is refused beyond them before it fills the memory."""

from __future__ import annotations

from tailcut.errors import TableError

MAX_CELLS = 200_000_000
"""Most cells of a table, rounds times workers: 1.6 GB of seconds."""

MAX_ARRAY_BYTES = 2 << 30
"""Largest array of an npz file, in bytes after decompression."""


MAX_TEXT_BYTES = 4 << 30
"""Largest table in text, in bytes: it is read into memory as a whole."""


def refuse_too_many(cells: int, what: str, source: str) -> None:
    """Raise if there are more than `MAX_CELLS` cells; `what` names them in the message."""
    if cells > MAX_CELLS:
        raise TableError(
            source,
            f"{what} are too many, a table holds at most {MAX_CELLS:,} cells",
            remedy="split the file by rounds or workers",
            value=cells,
        )
