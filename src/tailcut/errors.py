"""The errors that tailcut raises on purpose.

    TailcutError                 something a user can fix; the message is one sentence with value and remedy
    ├── InputError               what was given is wrong; the command line exits with code 2
    │   ├── TableError           a run-time table: names file, row, column, value and remedy
    │   ├── ModelFileError       a file of a trained model cannot be read or written
    │   ├── UnknownNameError     no policy, cluster or parameter of that name; lists the known ones
    │   └── ParameterError       a known parameter with an impossible value
    └── MissingExtraError        optional packages are not installed; names the extra that installs them

Programming errors stay `ValueError`, `TypeError` or failed assertions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class TailcutError(Exception):
    """Base of all errors whose message is meant for a user's eyes."""


class InputError(TailcutError, ValueError):
    """An input of the user cannot be used."""


class ParameterError(InputError):
    """A parameter that exists was given a value it cannot take."""


class TableError(InputError):
    """A run-time table cannot be read.

    Example:
        >>> print(TableError("t.csv", "must be > 0", remedy="drop the row", row=7, column="seconds", value=-1))
        t.csv, row 7, column 'seconds': must be > 0, but got -1. Remedy: drop the row.
    """

    def __init__(
        self,
        source: object,
        problem: str,
        *,
        remedy: str,
        row: int | None = None,
        column: str | None = None,
        value: object = None,
    ) -> None:
        place = [str(source)]
        if row is not None:
            place.append(f"row {row}")
        if column is not None:
            place.append(f"column {column!r}")
        got = "" if value is None else f", but got {_short(value)}"
        super().__init__(f"{', '.join(place)}: {problem}{got}. Remedy: {remedy}.")


class ModelFileError(InputError):
    """A file of a trained model cannot be read or written."""


class UnknownNameError(InputError):
    """A name is not known; the message lists the known names.

    Example:
        >>> print(UnknownNameError("policy", "wait-al", ["wait-all", "backup"]))
        Unknown policy 'wait-al'. Did you mean 'wait-all'? Known: backup, wait-all.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        close = get_close_matches(name, names, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        super().__init__(f"Unknown {kind} {name!r}.{hint} Known: {', '.join(names) or 'none'}.")


class MissingExtraError(TailcutError, ImportError):
    """Optional packages are needed and not installed.

    Example:
        >>> print(MissingExtraError("Live training", ["pyzmq", "msgspec"], ["live"]))
        Live training needs pyzmq and msgspec, which are not installed: pip install "tailcut[live]".
    """

    def __init__(self, purpose: str, packages: Sequence[str], extras: Sequence[str]) -> None:
        *first, last = packages
        named = f"{', '.join(first)} and {last}" if first else last
        are = "are" if first else "is"
        super().__init__(
            f'{purpose} needs {named}, which {are} not installed: pip install "tailcut[{",".join(extras)}]".'
        )


def one_line(text: object, most: int = 200) -> str:
    """Return a text cut to `most` characters, without line breaks or control characters."""
    plain = str(text)
    if not plain.isprintable():
        plain = repr(plain)[1:-1]
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def _short(value: object, most: int = 60) -> str:
    text = value if isinstance(value, str) else str(value)
    text = repr(text) if isinstance(value, str) else text
    return text if len(text) <= most else text[: most - 1] + "…"
