"""Checks a run by its workers' journals alone: no update lost, doubled, forked, or made of a spoilt gradient.

The checker shares no code with the engine. It requires:

1. Each life of a worker applies versions one after another; only a copy of the state takes it elsewhere.
2. All workers that applied a version did so by the same updates (history hash), of the same gradients, and
   had the same parameters afterwards. An update that is not on the run's course is allowed only if no worker
   was left that could have handed it on: each life that has it ended there, or was silent until the others
   had continued and then copied their state; or all these lives ended before another worker made that version
   anew.
3. A worker that has reported that nothing of its epoch completes any more (`stopped`) applies nothing before
   it has entered the next epoch.
4. A worker whose gradient is in an update had submitted one for that version before.
5. All workers that reached the end have the same version and parameters, and the course up to there is whole.
6. A process that makes the same updates again gets these parameters, to floating-point tolerance.
7. A checkpoint is published only of a version on the course that no other worker has still to apply.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import final

from tailcut.testing.chaos.course import Course, Stretch, course_of, stretches
from tailcut.testing.chaos.journals import Life, Line, lives
from tailcut.testing.chaos.replay import TOLERANCE, Setting, deviation

SILENCE = 0.5
"""Seconds of silence after which the other workers may continue without a worker."""
MOST = 20
"""Most violations that are listed one by one."""


@final
@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a check.

    Attributes:
        violations: one sentence per violation; empty if the run is correct.
        versions: the newest version on the course.
        lives: number of lives, of all workers together.
        abandoned: number of updates that are not on the course.
        deviation: largest difference of the final parameters from a replay of the updates, relative to the
            largest parameter.
    """

    violations: tuple[str, ...]
    versions: int
    lives: int
    abandoned: int
    deviation: float


def check(folder: Path) -> Verdict:
    """Return the verdict on the journals in a folder."""
    found = lives(folder)
    course = course_of(found)
    abandoned = {
        (line.version, line.chain) for life in found for line in life.applied if not course.has(line)
    }
    violations = [*_all(found, course)]
    apart = _apart(found, course, folder)
    if not apart <= TOLERANCE:
        violations.append(
            f"Made once more, the updates lead to other numbers, {apart:.1e} of the largest apart: a gradient was "
            "lost, doubled or spoilt."
        )
    more = len(violations) - MOST
    shown = [*violations[:MOST], *([f"And {more} more."] if more > 0 else [])]
    return Verdict(tuple(shown), course.newest, len(found), len(abandoned), apart)


def _all(found: Sequence[Life], course: Course) -> Iterator[str]:
    made = {(line.version, line.digest) for life in found for line in life.applied}
    for life in found:
        for piece in stretches(life):
            yield from _in_order(piece)
            yield from _begins_well(piece, course, made)
            yield from _agrees(piece, course)
        yield from _promises(life)
        yield from _strays(life, course, found)
    yield from course.violations
    yield from _submitted(found, course)
    yield from _at_the_end(found, course)
    yield from _published(found, course)
    for life in found:
        yield from _well_kept(life)


def _well_kept(life: Life) -> Iterator[str]:
    if life.failed is not None:
        yield f"Of {life}: it failed. {life.failed}"
    if life.torn and life.ended is not None:
        yield f"Of {life}: its journal goes on after its end."


def _in_order(piece: Stretch) -> Iterator[str]:
    version = piece.begin
    for update in piece.updates:
        if update.version <= version:
            yield f"Of {piece.life}: it applied version {update.version} again, at version {version}."
        elif update.version > version + 1:
            yield f"Of {piece.life}: it applied version {update.version} right after version {version}."
        version = update.version


def _begins_well(piece: Stretch, course: Course, made: Collection[tuple[int, str]]) -> Iterator[str]:
    """Check the state with which a stretch begins.

    A version that was lost with all workers that had it is made anew; until then the lost one is correct.
    """
    version = course.updates.get(piece.begin)
    if not piece.digest or version is None or version.digest == piece.digest:
        return
    was_made_anew = bool(piece.lines) and piece.lines[0].at < version.at
    if not (was_made_anew and (piece.begin, piece.digest) in made):
        yield f"Of {piece.life}: it began at version {piece.begin} with other numbers than that has."


def _agrees(piece: Stretch, course: Course) -> Iterator[str]:
    for update in piece.updates:
        known = course.updates.get(update.version)
        if known is None or known.chain != update.chain:
            continue
        if known.accepted != update.accepted:
            yield (
                f"Of {piece.life}: its version {update.version} has gradients of {list(update.accepted)}, "
                f"that of others of {list(known.accepted)}, by the same chain."
            )
        if known.digest != update.digest:
            yield f"Of {piece.life}: it has other numbers than others at version {update.version}, by the same updates."


def _promises(life: Life) -> Iterator[str]:
    """Check that nothing completes between a `stopped` of a life and its entry into the next epoch."""
    promised: Line | None = None
    for line in life.lines:
        if line.what == "stopped":
            promised = line
        elif line.what == "entering":
            promised = None
        elif line.what in ("reduced", "applied") and promised is not None:
            yield (
                f"Of {life}: {line.what} version {line.version} after it had promised, at version "
                f"{promised.version}, that nothing of the epoch completes any more."
            )
            promised = None


def _strays(life: Life, course: Course, found: Sequence[Life]) -> Iterator[str]:
    """Find updates that are not on the course although a live worker could have handed them on."""
    pieces = stretches(life)
    for place, piece in enumerate(pieces):
        stray = next((line for line in piece.updates if not course.has(line)), None)
        if stray is None:
            continue
        of = f"Of {life}: its version {stray.version} (chain {stray.chain[:8]}, of {list(stray.accepted)})"
        begin = piece.lines.index(stray)
        after = piece.lines[begin:]
        last = place == len(pieces) - 1
        if any(line.what in ("ended", "failed") for line in after):
            yield f"{of} is not the others', and it came to its end with it, alive."
        elif last and _was_alone(life, stray, found):
            continue
        elif any(line.what == "entering" for line in _without_copy(after, last)):
            yield f"{of} is not the others', and it went on with it into another epoch."
        elif not last and not _was_silent(_since_submitting(piece.lines, begin)):
            yield f"{of} is not the others', though it was there all the time to hand it on."


def _was_alone(life: Life, stray: Line, found: Sequence[Life]) -> bool:
    """Return whether no life was left to hand on an update when its version was made by another update.

    All lives that had it ended before. Lives that ended before this one began do not count as having made the
    version otherwise: a run that is killed as a whole loses updates.
    """
    having = [other for other in found if any(_is_same(line, stray) for line in other.applied)]
    ended = max(other.last for other in having)
    otherwise = [
        (other, line.at)
        for other in found
        for line in other.applied
        if line.version == stray.version and line.chain != stray.chain
    ]
    return all(other.last < life.began or at > ended for other, at in otherwise)


def _is_same(one: Line, other: Line) -> bool:
    return (one.version, one.chain) == (other.version, other.chain)


def _without_copy(lines: Sequence[Line], last: bool) -> Sequence[Line]:
    """Cut lines before the first entry into an epoch if the life copied a state after it, or died there."""
    entries = [place for place, line in enumerate(lines) if line.what == "entering"]
    if not entries:
        return lines
    if (
        not last
        or any(line.what == "copying" for line in lines[entries[0] :])
        or entries[0] == len(lines) - 1
    ):
        return lines[: entries[0]]
    return lines


def _since_submitting(lines: Sequence[Line], place: int) -> Sequence[Line]:
    """Return the lines from the last `submitting` before a line onwards."""
    begins = [n for n, line in enumerate(lines[:place]) if line.what == "submitting"]
    return lines[begins[-1] if begins else 0 :]


def _was_silent(lines: Sequence[Line]) -> bool:
    return any(two.at - one.at >= SILENCE for one, two in pairwise(lines))


def _submitted(found: Sequence[Life], course: Course) -> Iterator[str]:
    first: dict[tuple[int, int], float] = {}
    for life in found:
        for line in life.lines:
            if line.what == "submitting":
                key = (life.worker, line.version)
                first[key] = min(line.at, first.get(key, line.at))
    applied: dict[tuple[int, str], float] = {}
    for life in found:
        for line in life.applied:
            at = (line.version, line.chain)
            applied[at] = min(line.at, applied.get(at, line.at))
    for version, update in sorted(course.updates.items()):
        if len(set(update.accepted)) < len(update.accepted) or not update.accepted:
            yield f"Version {version} has gradients of {list(update.accepted)}."
        for worker in update.accepted:
            when = first.get((worker, version - 1))
            if when is None or when > applied[version, update.chain]:
                yield f"Version {version} has a gradient of worker {worker}, which had not submitted any for it."


def _at_the_end(found: Sequence[Life], course: Course) -> Iterator[str]:
    ends = {life: life.ended for life in found}
    survivors = {life: line for life, line in ends.items() if line is not None}
    if not survivors:
        yield "Nobody came to the end of the run."
        return
    versions = {line.version for line in survivors.values()}
    if len(versions) > 1:
        yield f"Workers came to the end at versions {sorted(versions)}."
    if len({line.digest for line in survivors.values()}) > 1 and len(versions) == 1:
        yield "Workers came to the end with different numbers."
    missing = [version for version in range(1, max(versions) + 1) if version not in course.updates]
    if missing:
        yield f"{len(missing)} versions are in no journal, the first is {missing[0]}."
    for life, line in survivors.items():
        if life.applied and life.applied[-1].digest != line.digest:
            yield f"Of {life}: its numbers changed after its last update."
    absent = set(range(max(life.worker for life in found) + 1)) - {life.worker for life in survivors}
    if absent:
        yield f"Workers {sorted(absent)} did not come to the end."


def _published(found: Sequence[Life], course: Course) -> Iterator[str]:
    for life in found:
        for line in life.lines:
            if line.what != "published":
                continue
            own = [each for each in life.applied if each.version == line.version]
            if own and not course.has(own[-1]):
                yield f"Of {life}: it published a checkpoint of version {line.version}, which is not on the course."
            behind = _behind([other for other in found if other is not life], line)
            if behind:
                yield (
                    f"Of {life}: it published a checkpoint of version {line.version} before workers {behind} had come "
                    "to it."
                )


def _behind(found: Sequence[Life], published: Line) -> list[int]:
    """Return the workers that applied the published version, or an earlier one, after its publication."""
    return sorted(
        {
            life.worker
            for life in found
            for line in life.applied
            if line.at > published.at and line.version <= published.version
        }
    )


def _apart(found: Sequence[Life], course: Course, folder: Path) -> float:
    """Return the deviation of the final parameters from a replay; 0 without an ended life or whole course."""
    whole = list(course.updates) and sorted(course.updates) == list(range(1, course.newest + 1))
    ended = next((line for life in found if (line := life.ended) is not None), None)
    if ended is None or not whole:
        return 0.0
    updates = [
        course.updates[version].accepted
        for version in range(1, ended.version + 1)
        if version in course.updates
    ]
    return deviation(
        Setting.of(found[0].lines[0].more["settings"]), updates, folder / str(ended.more["final"])
    )
