"""Checks the course of a training on servers by the notes of its processes. Shares no code with the engine.

The gradients themselves tell which workers an update is made of: shards note digests of the gradients that
they have added, workers of those that they have computed. The driver's record of a round is only compared
with that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

from tailcut.testing.servers import Seen

Gradient: TypeAlias = tuple[int, int]
"""The worker that computed a gradient, and the version that it was computed at."""
Digests: TypeAlias = Mapping[int, tuple[str, ...]]
"""Digests of each shard's piece of the parameters, by version."""
Computed: TypeAlias = dict[tuple[int, str], set[Gradient]]
"""The gradients that a piece may be part of, by shard and digest of the piece."""


@final
class Violation(AssertionError):  # noqa: N818
    """An update was lost, doubled or mixed with another, or a process was given wrong parameters."""


@final
@dataclass(frozen=True, slots=True)
class _Step:
    """Digests of a shard's piece at a version, and of the gradients that made it from the version before."""

    piece: str
    gradients: tuple[str, ...] = ()


def check(
    seen: Sequence[Seen],
    shards: int,
    accepted: Mapping[int, Iterable[Gradient]],
    ended: int | None = None,
    known: Digests | None = None,
) -> dict[int, tuple[str, ...]]:
    """Raise an error if an update was lost, doubled or mixed with another in the course of one driver.

    In this course no accepted gradient was lost, and the run did not return to a checkpoint.

    Args:
        seen: the notes of workers and shards, in order.
        shards: number of shards.
        accepted: the gradients that each round accepted by the driver's record, by the version before its
            update.
        ended: the version at which the run ended; None if its driver was killed.
        known: the versions of earlier drivers, from one of which this driver resumed; None for the first
            driver.

    Returns:
        The digests of all versions that all shards have made, with those of `known` before this driver's
        first.

    Raises:
        Violation: the course is wrong; the message says how.
    """
    histories = [_history(seen, shard, known) for shard in range(shards)]
    first = min(histories[0], default=0)
    newest = min(max(each, default=first) for each in histories)
    for shard, history in enumerate(histories):
        if min(history, default=first) != first:
            raise Violation(f"Shard {shard} began with version {min(history)}, shard 0 with {first}.")
        if ended is not None and max(history, default=first) < ended:
            raise Violation(f"The run ended at version {ended}, but shard {shard} never made it.")
    _check_handed_out(seen, histories, first, ended)
    _check_accepted(histories, _computed(seen), accepted, range(first, newest if ended is None else ended))
    before = {version: digests for version, digests in (known or {}).items() if version < first}
    return before | {
        version: tuple(history[version].piece for history in histories)
        for version in range(first, newest + 1)
        if all(histories)
    }


def _history(seen: Sequence[Seen], shard: int, known: Digests | None) -> dict[int, _Step]:
    """Return the final history of a shard: the versions that it was given or made, one following another."""
    steps: dict[int, _Step] = {}
    ways: dict[int, set[_Step]] = {}
    process, now = 0, None
    for each in seen:
        if each.kind != "shard" or each.number != shard:
            continue
        if each.process != process:
            # A shard that is started again has no parameters.
            process, now = each.process, None
        if each.point == "giving":
            now = each.version
            steps = _given(each, steps, known)
        elif each.point == "applied":
            made, step = each.version + 1, _Step(each.what[0], each.what[1:])
            if now == made and steps[made] == step:
                # The order came twice and was carried out once.
                continue
            if now != each.version:
                raise Violation(f"Shard {shard} made version {made} when it had version {now}.")
            _check_step(shard, made, steps[now], step)
            ways.setdefault(made, set()).add(step)
            if len(ways[made]) > 1:
                raise Violation(f"Shard {shard} made version {made} in {len(ways[made])} ways.")
            steps[made], now = step, made
    return steps


def _given(each: Seen, steps: dict[int, _Step], known: Digests | None) -> dict[int, _Step]:
    """Check the version that a shard was given; return its history up to there."""
    version, shard, (piece,) = each.version, each.number, each.what
    if steps:
        there = steps[version].piece if version in steps else None
    elif known is not None:
        there = known[version][shard] if version in known else None
    else:
        there = piece if version == 0 else None
    if there is None:
        raise Violation(f"Shard {shard} was given version {version}, which it never made.")
    if there != piece:
        raise Violation(f"Shard {shard} was given as version {version} something else than it had made.")
    return {v: step for v, step in steps.items() if v <= version} or {version: _Step(piece)}


def _check_step(shard: int, made: int, before: _Step, after: _Step) -> None:
    if after.gradients and after.piece == before.piece:
        raise Violation(
            f"Shard {shard} is at version {made} as before it, though it added {len(after.gradients)} gradients."
        )
    if not after.gradients and after.piece != before.piece:
        raise Violation(f"Shard {shard} is at version {made} another than before it, and added no gradient.")


def _check_handed_out(
    seen: Sequence[Seen], histories: Sequence[Mapping[int, _Step]], first: int, ended: int | None
) -> None:
    """Check that workers were given all shards' pieces of one version, and each version went to a worker."""
    versions = set()
    for each in seen:
        if each.kind != "worker" or each.point != "computing":
            continue
        version = each.version
        versions.add(version)
        if len(each.what) != len(histories):
            raise Violation(f"Worker {each.number} was given {len(each.what)} pieces of version {version}.")
        for shard, (digest, history) in enumerate(zip(each.what, histories, strict=True)):
            if version not in history:
                raise Violation(f"Version {version} was handed out, but shard {shard} never made it.")
            if history[version].piece != digest:
                others = [v for v, step in history.items() if step.piece == digest]
                raise Violation(
                    f"Worker {each.number} was given with version {version} of shard {shard} what it had at version "
                    f"{others}."
                )
    missing = sorted(set(range(first, max(versions, default=first) if ended is None else ended)) - versions)
    if missing:
        raise Violation(f"Versions {missing} were never handed out.")


def _computed(seen: Sequence[Seen]) -> Computed:
    """Return the gradients that workers computed, by shard and digest of the piece."""
    computed: Computed = {}
    for each in seen:
        if each.kind == "worker" and each.point == "computed":
            for shard, digest in enumerate(each.what):
                computed.setdefault((shard, digest), set()).add((each.number, each.version))
    return computed


def _check_accepted(
    histories: Sequence[Mapping[int, _Step]],
    computed: Computed,
    accepted: Mapping[int, Iterable[Gradient]],
    versions: range,
) -> None:
    """Check that all shards added the gradients that the round accepted, and none of them twice."""
    used: dict[Gradient, int] = {}
    for version in versions:
        added = [_added(shard, version, history, computed) for shard, history in enumerate(histories)]
        if len({len(each) for each in added}) > 1:
            raise Violation(f"Shards added {[len(each) for each in added]} gradients to version {version}.")
        whose = [set.intersection(*pieces) for pieces in zip(*added, strict=True)]
        if not all(whose):
            raise Violation(f"Shards added gradients of different workers to version {version}.")
        names = sorted(min(each) for each in whose)
        if version not in accepted or names != sorted(accepted[version]):
            said = sorted(accepted.get(version, ()))
            raise Violation(f"To version {version} {names} were added, but its round accepted {said}.")
        for name in names:
            if name in used:
                raise Violation(f"The gradient {name} was added to versions {used[name]} and {version}.")
            used[name] = version


def _added(shard: int, version: int, history: Mapping[int, _Step], computed: Computed) -> list[set[Gradient]]:
    """Return, for each piece that a shard added, in order, the gradients that it may be part of."""
    added = [computed.get((shard, digest), set()) for digest in history[version + 1].gradients]
    if not all(added):
        raise Violation(f"Shard {shard} added to version {version} what no worker has computed.")
    return added
