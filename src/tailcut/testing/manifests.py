"""Checks the course of a training on servers from what its processes wrote down. Shares no code with the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

from tailcut.testing.servers import Seen


@final
class Violation(AssertionError):  # noqa: N818
    """Something that must never happen."""


def check(seen: Sequence[Seen], manifests: Mapping[int, Sequence[str]], shards: int) -> None:
    """Refuse a course in which an update was lost, doubled or mixed with another.

    Args:
        seen: what shards wrote down: every update they have made, with a digest of the parameters after it.
        manifests: by version, the digests of what workers were given, by shard.
        shards: how many there are.

    Raises:
        Violation: says what.
    """
    made: list[dict[int, set[str]]] = [{} for _ in range(shards)]
    for each in seen:
        if each.kind == "shard" and each.point == "applied":
            made[each.number].setdefault(each.version + 1, set()).add(each.what)
    for version, digests in sorted(manifests.items()):
        if version == 0:
            continue
        for shard, digest in enumerate(digests):
            found = made[shard].get(version)
            if found is None:
                raise Violation(f"Version {version} was handed out, but shard {shard} never made it.")
            if digest not in found:
                others = [v for v, those in made[shard].items() if digest in those]
                raise Violation(f"Version {version} has of shard {shard} what it had at version {others}.")
            if len(found) > 1:
                raise Violation(f"Shard {shard} made version {version} in {len(found)} ways.")
    newest = max(manifests)
    missing = [v for v in range(1, newest + 1) if v not in manifests]
    if missing:
        raise Violation(f"Versions {missing} were never handed out.")
