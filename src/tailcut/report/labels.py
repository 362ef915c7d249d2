"""Short names for the rows of a figure; the table on the same page has the full names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from tailcut.report.words import printable

MOST = 25


def labels(names: Iterable[str], most: int = MOST) -> dict[str, str]:
    """Return a label of at most `most` characters for each name; different names get different labels.

    Example:
        >>> labels(["stopping", "deadline(window=100,seconds=1.4)", "deadline(window=100,seconds=2)"])
        {'stopping': 'stopping', 'deadline(window=100,seconds=1.4)': 'deadline(…seconds=1.4)', \
'deadline(window=100,seconds=2)': 'deadline(…seconds=2)'}
    """
    alike: dict[str, list[str]] = defaultdict(list)
    for name in dict.fromkeys(names):
        alike[_cut(printable(name), most)].append(name)
    found: dict[str, str] = {}
    for label, group in alike.items():
        found |= {group[0]: label} if len(group) == 1 else _telling(group, most)
    return found


def _telling(group: list[str], most: int) -> dict[str, str]:
    """Return labels that show the part in which names with the same beginning differ."""
    stem = _common_start(group)
    start = max((match.end() for match in re.finditer(r"[(,:;\s]", stem)), default=len(stem))
    head = group[0][: min(most // 2, len(re.split(r"(?<=[(:])", stem)[0]))]
    cut = [_cut(printable(f"{head}…{name[start:]}"), most) for name in group]
    if len(set(cut)) < len(group):
        cut = [f"{_cut(label, most - 4)} #{place}" for place, label in enumerate(cut, start=1)]
    return dict(zip(group, cut, strict=True))


def _common_start(group: list[str]) -> str:
    first, last = min(group), max(group)
    apart = (place for place, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
    return first[: next(apart, min(len(first), len(last)))]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
