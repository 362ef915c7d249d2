"""The changes in a record to its earlier lines: found first, so that the record can be read line by line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from tailcut.bounded_files import parse_json, read_lines

_KINDS = ("back", "skipped")


@final
@dataclass(slots=True)
class Changes:
    """The changes in one record; its lines are numbered from 1.

    Attributes:
        lines: number of lines.
        returns: pairs of the number of a line, and the version that the run went back to there.
        skips: pairs of the number of a line, and the version whose gradients were lost.

    Example:
        >>> changes = changes_in(['{"kind": "round", "version": 0}', '{"kind": "back", "version": 0}'])
        >>> changes.stands(1, 0), changes.stands(3, 0)
        (False, True)
    """

    lines: int = 0
    returns: list[tuple[int, int]] = field(default_factory=list)
    skips: list[tuple[int, int]] = field(default_factory=list)

    def stands(self, number: int, version: int) -> bool:
        """Return whether no later line has undone what a line says of a version."""
        return not any(later > number and to <= version for later, to in self.returns)

    def is_lost(self, number: int, version: int) -> bool:
        """Return whether a later line says that the gradients of the round in a line were lost."""
        return any(later > number and skipped == version for later, skipped in self.skips)


def changes_of(file: Path) -> Changes:
    """Return the changes in the file of a record.

    Raises:
        OSError: it cannot be read.
    """
    return changes_in(read_lines(file))


def changes_in(lines: Iterable[str]) -> Changes:
    """Return the changes in some lines; skip damaged ones, which are refused when the record is read."""
    found = Changes()
    for number, line in enumerate(lines, 1):
        found.lines = number
        if any(f'"{kind}"' in line for kind in _KINDS):
            _take(found, number, line)
    return found


def _take(found: Changes, number: int, line: str) -> None:
    try:
        values: dict[str, Any] = parse_json(line)
        kind, version = values["kind"], int(values["version"])
    except (ValueError, TypeError, LookupError, OverflowError):
        return
    if kind == "back":
        found.returns.append((number, version))
    elif kind == "skipped":
        found.skips.append((number, version))
