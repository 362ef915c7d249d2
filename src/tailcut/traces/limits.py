"""How large a table may get before it is refused instead of filling the memory."""

from __future__ import annotations

from tailcut.errors import TableError

MAX_CELLS = 200_000_000
"""Rounds times workers: 1.6 GB of seconds."""

MAX_ARRAY_BYTES = 2 << 30
"""One array of an npz file, unpacked."""


MAX_TEXT_BYTES = 4 << 30
"""Largest table in text, in bytes: it is read into memory as a whole."""


def refuse_too_many(cells: int, what: str, source: str) -> None:
    """Raise if `cells` are too many; `what` they are, for the message."""
    if cells > MAX_CELLS:
        raise TableError(
            source,
            f"{what} are too many, a table holds at most {MAX_CELLS:,} cells",
            remedy="split the file by rounds or workers",
            value=cells,
        )
