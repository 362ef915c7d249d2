"""The course of a run: its one sequence of updates, found in the workers' journals from the end backwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

from tailcut.testing.chaos.journals import Life, Line


@final
@dataclass(frozen=True, slots=True)
class Course:
    """The updates by the version they made, each as one worker noted it, and the violations found in them."""

    updates: dict[int, Line] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)

    @property
    def newest(self) -> int:
        """The version at the end of the course."""
        return max(self.updates, default=0)

    def has(self, line: Line) -> bool:
        """Return whether an update is on the course."""
        return line.version in self.updates and self.updates[line.version].chain == line.chain


@final
@dataclass(frozen=True)
class Stretch:
    """The lines of one life from one state that it was given to the next.

    Attributes:
        life: the life that these lines are part of.
        begin: version of the state at the beginning.
        digest: digest of the parameters at the beginning; empty if no line says it.
        lines: the lines from there on.
    """

    life: Life
    begin: int
    digest: str
    lines: tuple[Line, ...]

    @cached_property
    def updates(self) -> list[Line]:
        """The updates that the worker applied."""
        return [line for line in self.lines if line.what == "applied"]

    @property
    def ended(self) -> bool:
        """Return whether the worker reached the end of the run."""
        return any(line.what == "ended" for line in self.lines)


def stretches(life: Life) -> list[Stretch]:
    """Cut a life where it was given a state: a copy, a checkpoint, or the first one."""
    found, begin, digest, lines = list[Stretch](), 0, "", list[Line]()
    for line in life.lines:
        if line.what in ("copied", "resumed") or (
            line.what == "begun" and not _applied_or_copied(life, line)
        ):
            found.append(Stretch(life, begin, digest, tuple(lines)))
            begin, digest, lines = line.version, line.digest, []
        lines.append(line)
    return [*found, Stretch(life, begin, digest, tuple(lines))]


def _applied_or_copied(life: Life, begun: Line) -> bool:
    """Return whether a life had a state before its line `begun`."""
    before = life.lines[: life.lines.index(begun)]
    return any(line.what in ("applied", "copied", "resumed") for line in before)


def course_of(lives: Sequence[Life]) -> Course:
    """Return the course of the workers that reached the end; of the one that got furthest if none did."""
    pieces = [piece for life in lives for piece in stretches(life) if piece.updates]
    at_the_end = [piece for piece in pieces if piece.ended] or pieces
    course, before = Course(), _before(pieces)
    if not at_the_end:
        return course
    last = max((piece.updates[-1] for piece in at_the_end), key=lambda line: line.version)
    while last.version > 1:
        course.updates[last.version] = last
        found = before.get((last.version, last.chain), {})
        which = f"version {last.version} (chain {last.chain[:8]})"
        if not found:
            course.violations.append(
                f"No journal tells which version {last.version - 1} came before {which}."
            )
            return course
        if len(found) > 1 and not course.violations:
            course.violations.append(f"There are {len(found)} different versions just before {which}.")
        last = found[min(found)]
    course.updates[last.version] = last
    return course


def _before(pieces: Sequence[Stretch]) -> dict[tuple[int, str], dict[tuple[str, str], Line]]:
    """Find for every update those that a worker applied just before; after a copy, those with its digest."""
    by_digest: dict[tuple[int, str], list[Line]] = {}
    for piece in pieces:
        for update in piece.updates:
            by_digest.setdefault((update.version, update.digest), []).append(update)
    found: dict[tuple[int, str], dict[tuple[str, str], Line]] = {}
    for piece in pieces:
        updates = piece.updates
        earlier = [by_digest.get((piece.begin, piece.digest), []), *([update] for update in updates)]
        for update, before in zip(updates, earlier, strict=False):
            known = found.setdefault((update.version, update.chain), {})
            known.update(
                {(line.chain, line.digest): line for line in before if line.version == update.version - 1}
            )
    return found
