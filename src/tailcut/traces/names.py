"""Names of workers and nodes: the allowed ones, their order, and integers written as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from tailcut.types import NO_NODE, IntArray

Name: TypeAlias = str | int

INT64 = range(-(2**63), 2**63)
"""The integers that fit 64 bits."""

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_DIGITS = re.compile(r"([0-9]+)")

_TextKey: TypeAlias = tuple[str | tuple[int, str], ...]


def integer_or_text(text: str) -> Name:
    """Return the integer that `text` spells, or `text` itself.

    Only the usual spelling counts, so that distinct texts stay distinct: `007` and `+7` are text.
    """
    if _INTEGER.fullmatch(text) and int(text) in INT64:
        return int(text)
    return text


def problem_of(name: Name) -> str | None:
    """Return the reason why `name` cannot be written and read back in every format, or None if it can."""
    if isinstance(name, int):
        return None if name in INT64 else "an integer name must fit 64 bits"
    if not name:
        return "a name must not be empty"
    if "\0" in name:
        return "a name must not contain the character NUL"
    try:
        name.encode()
    except UnicodeEncodeError:
        return "a name must be valid Unicode text"
    return None


def natural_order(names: Sequence[Name]) -> IntArray:
    """`(names,)` the positions that put `names` in natural order.

    Example:
        >>> names = ["w10", "w2", 3, -1]
        >>> [names[i] for i in natural_order(names)]
        [-1, 3, 'w2', 'w10']
    """
    numbers = sorted((name, i) for i, name in enumerate(names) if isinstance(name, int))
    texts = sorted((_text_key(name), name, i) for i, name in enumerate(names) if isinstance(name, str))
    return np.array([i for _, i in numbers] + [i for _, _, i in texts], dtype=np.int64)


def _text_key(text: str) -> _TextKey:
    """Return alternating text and digit runs; runs of any length compare by value, through their length."""
    parts = _DIGITS.split(text)
    return tuple(_run_key(part) if i % 2 else part for i, part in enumerate(parts))


def _run_key(digits: str) -> tuple[int, str]:
    significant = digits.lstrip("0")
    return len(significant), significant


def number_nodes(labels: Sequence[Name | None]) -> IntArray:
    """`(workers,)` nodes numbered `0..k-1` by first appearance; None and -1 are unknown.

    Example:
        >>> number_nodes(["rack-b", "rack-a", None, "rack-b"])
        array([ 0,  1, -1,  0])
    """
    numbers: dict[Name | None, int] = {None: NO_NODE, NO_NODE: NO_NODE}
    known = len(numbers)
    return np.array([numbers.setdefault(label, len(numbers) - known) for label in labels], dtype=np.int64)
