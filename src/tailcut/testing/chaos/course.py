"""The one course of updates that a run has taken, found from the journals of its workers, backwards from its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

from tailcut.testing.chaos.journals import Life, Line


@final
@dataclass(frozen=True, slots=True)
class Course:
    """Updates by the version they made, each as some worker noted it, and what is wrong with them."""

    updates: dict[int, Line] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)

    @property
    def newest(self) -> int:
        """Version at its end."""
        return max(self.updates, default=0)

    def has(self, line: Line) -> bool:
        """Whether an update is on it."""
        return line.version in self.updates and self.updates[line.version].chain == line.chain


@final
@dataclass(frozen=True)
class Stretch:
    """What one life did from one state that it was given to the next.

    Attributes:
        life: whose.
        begin: version of the state.
        digest: of its parameters; empty where nobody says.
        lines: from there on.
    """

    life: Life
    begin: int
    digest: str
    lines: tuple[Line, ...]

    @cached_property
    def updates(self) -> list[Line]:
        """That it applied."""
        return [line for line in self.lines if line.what == "applied"]

    @property
    def ended(self) -> bool:
        """Whether it came to the end of the run."""
        return any(line.what == "ended" for line in self.lines)


def stretches(life: Life) -> list[Stretch]:
    """A life, cut where it copied a state."""
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
    """Whether a life had a state before it says that it has begun."""
    before = life.lines[: life.lines.index(begun)]
    return any(line.what in ("applied", "copied", "resumed") for line in before)


def course_of(lives: Sequence[Life]) -> Course:
    """That of those who came to the end; of who came furthest where nobody did."""
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
    """For every update, those that some worker had applied just before; by digest where it had copied that state."""
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
