"""The checker of runs on servers: it finds what it is there for."""

from __future__ import annotations

import pytest

from tailcut.testing.manifests import Violation, check
from tailcut.testing.servers import Seen


def applied(shard: int, version: int, what: str, process: int = 1) -> Seen:
    """A shard has made the update that follows a version."""
    return Seen(process, "shard", shard, "applied", version, what)


GOOD = [applied(shard, version, f"{shard} after {version}") for shard in (0, 1) for version in range(3)]
MANIFESTS = {version + 1: [f"{shard} after {version}" for shard in (0, 1)] for version in range(3)}


def test_a_good_run_passes() -> None:
    check(GOOD, MANIFESTS, 2)
    again = [*GOOD, applied(1, 2, "1 after 2", process=2)]
    check(again, {0: ["first", "first"], **MANIFESTS}, 2)


@pytest.mark.parametrize(
    ("seen", "manifests", "words"),
    [
        (GOOD[:-1], MANIFESTS, "Version 3 was handed out, but shard 1 never made it"),
        (
            GOOD,
            {**MANIFESTS, 3: ["0 after 2", "1 after 1"]},
            r"Version 3 has of shard 1 what it had at version \[2\]",
        ),
        ([*GOOD, applied(0, 1, "twice added", process=2)], MANIFESTS, "Shard 0 made version 2 in 2 ways"),
        (GOOD, {version: MANIFESTS[version] for version in (1, 3)}, r"Versions \[2\] were never handed out"),
    ],
)
def test_what_must_never_happen_is_found(
    seen: list[Seen], manifests: dict[int, list[str]], words: str
) -> None:
    with pytest.raises(Violation, match=words):
        check(seen, manifests, 2)
