"""Refuse docstrings that begin with a word that has nothing to stand for.

python -m tools.plain_words src tests benchmarks

A docstring is often read alone, in a tooltip or a search result. Its first word must therefore not be a preposition, a
pronoun, a question word or a conjunction. Docstrings of modules, classes, functions and constants are checked. The
exit code is 1 if any is refused.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

PREPOSITIONS = """of in on at by for from with without within after before beside between beyond during over under until
    up to as like since through against around among across along per than"""
PRONOUNS = """it its they them their he she his her this that those these everybody nobody somebody anybody everything
    nothing something anything others"""
QUESTIONS = (
    """who whoever whom whose what whatever which where wherever when whenever whether how however why"""
)
CONJUNCTIONS = """if while unless because although so and or but then here there"""
REFUSED = frozenset(f"{PREPOSITIONS} {PRONOUNS} {QUESTIONS} {CONJUNCTIONS}".split())
"""First words of docstrings that are refused, in lower case."""

Owner: TypeAlias = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each docstring, of constants too."""
    for owner in ast.walk(tree):
        if isinstance(owner, Owner):
            first = owner.body[0] if owner.body else None
            before = [(None, first)] if first is not None else []
            for previous, statement in [*before, *pairwise(owner.body)]:
                is_place = previous is None or isinstance(previous, ast.Assign | ast.AnnAssign)
                if is_place and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    text = statement.value.value
                    if isinstance(text, str):
                        yield statement.lineno, text


def refused(source: str) -> list[tuple[int, str]]:
    """Return the line and the first line of each docstring that is refused; a shape before it does not count.

    Example:
        >>> refused('size = 3; "Of the file."'.replace("; ", chr(10)))
        [(2, 'Of the file.')]
    """
    found = []
    for line, text in docstrings(ast.parse(source)):
        word = re.match(r"(?:`\([^`]*`|\W)*([A-Za-z]+)", text)
        if word is not None and word[1].lower() in REFUSED:
            found.append((line, text.strip().splitlines()[0]))
    return found


def main(folders: Sequence[str]) -> int:
    """Print every docstring that is refused below some folders; return the exit code."""
    count = 0
    for file in sorted(file for folder in folders for file in Path(folder).rglob("*.py")):
        for line, text in refused(file.read_text(encoding="utf-8")):
            print(f"{file}:{line}: give this docstring a subject or a verb of its own: {text}")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
