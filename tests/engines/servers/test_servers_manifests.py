"""The checker of runs on servers: it finds what it is there for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tailcut import names
from tailcut.engines.live import points
from tailcut.engines.servers.actors import ShardActor, WorkerActor
from tailcut.engines.servers.computing import Setting, net_of
from tailcut.engines.servers.orders import Job
from tailcut.engines.servers.reckoning import Reckoning
from tailcut.engines.servers.slices import Slices, Telling
from tailcut.learning.recipe import Recipe
from tailcut.testing.manifests import Violation, check
from tailcut.testing.servers import Seen, Strikes

SHARDS, WORKERS, UPDATES = 2, 2, 3
ACCEPTED = {v: [(worker, v) for worker in range(WORKERS)] for v in range(UPDATES)}


def piece(shard: int, version: int) -> str:
    return f"shard {shard} at {version}"


def gradient(worker: int, shard: int, version: int) -> str:
    return f"gradient of {worker} for {shard} at {version}"


def given(shard: int, version: int, process: int = 1) -> Seen:
    return Seen(process, "shard", shard, "giving", version, (piece(shard, version),))


def applied(shard: int, version: int, process: int = 1) -> Seen:
    """A shard has made the update that follows a version."""
    added = [gradient(worker, shard, version) for worker in range(WORKERS)]
    return Seen(process, "shard", shard, "applied", version, (piece(shard, version + 1), *added))


def computed(worker: int, version: int) -> list[Seen]:
    pieces = tuple(piece(shard, version) for shard in range(SHARDS))
    gradients = tuple(gradient(worker, shard, version) for shard in range(SHARDS))
    return [
        Seen(9, "worker", worker, "computing", version, pieces),
        Seen(9, "worker", worker, "computed", version, gradients),
    ]


def course(first: int = 0, last: int = UPDATES) -> list[Seen]:
    """Return the manifests of a run without faults."""
    seen = [given(shard, first) for shard in range(SHARDS)]
    for version in range(first, last):
        seen += [each for worker in range(WORKERS) for each in computed(worker, version)]
        seen += [applied(shard, version) for shard in range(SHARDS)]
    return seen


def changed(point: str, number: int, version: int, *what: str, only: int | None = None) -> list[Seen]:
    """The same, but for what one had in hand; with `only`, but for that place of it."""

    def mended(each: Seen) -> Seen:
        if (each.point, each.number, each.version) != (point, number, version):
            return each
        if only is None:
            return replace(each, what=what)
        return replace(each, what=(*each.what[:only], *what, *each.what[only + 1 :]))

    return [mended(each) for each in course()]


def without(point: str, number: int, version: int) -> list[Seen]:
    return [e for e in course() if (e.point, e.number, e.version) != (point, number, version)]


def lost_for_ever() -> list[Seen]:
    """Answer every update without making it."""
    return [
        replace(e, what=(piece(e.number, 0), *e.what[1:])) if e.point == "applied" else e for e in course()
    ]


def test_a_good_run_passes() -> None:
    versions = {v: (piece(0, v), piece(1, v)) for v in range(UPDATES + 1)}
    assert check(course(), SHARDS, ACCEPTED, UPDATES) == versions
    answered_twice = [*course(), applied(1, 2)]
    check(answered_twice, SHARDS, ACCEPTED, UPDATES)
    died_after = [*course(), given(1, 2, process=2), applied(1, 2, process=2)]
    check(died_after, SHARDS, ACCEPTED, UPDATES)
    one_more_was_under_way = [*course(), applied(0, 3)]
    check(one_more_was_under_way, SHARDS, ACCEPTED, UPDATES)


def test_another_driver_goes_on_from_what_was_made() -> None:
    killed = course()[:-1]
    known = check(killed, SHARDS, ACCEPTED)
    assert sorted(known) == [0, 1, 2]
    assert sorted(check(course(first=1), SHARDS, ACCEPTED, UPDATES, known)) == [0, 1, 2, 3]
    with pytest.raises(Violation, match="Shard 0 was given version 3, which it never made"):
        check(course(3, 4), SHARDS, ACCEPTED, 4, known)
    with pytest.raises(Violation, match="Shard 1 was given as version 2 something else than it had made"):
        check(course(2), SHARDS, ACCEPTED, UPDATES, {**known, 2: (piece(0, 2), "another")})


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (without("applied", 1, 2), "ended at version 3, but shard 1 never made it"),
        (without("applied", 1, 1), "Shard 1 made version 3 when it had version 1"),
        (
            changed("computing", 0, 2, piece(1, 1), only=1),
            r"Worker 0 was given with version 2 of shard 1 what it had at version \[1\]",
        ),
        (changed("computing", 1, 1, piece(0, 1)), "Worker 1 was given 1 pieces of version 1"),
        ([*course(), *computed(0, 4)], "Version 4 was handed out, but shard 0 never made it"),
        (
            [e for e in course() if e.point != "computing" or e.version != 1],
            r"Versions \[1\] were never handed out",
        ),
        (lost_for_ever(), "Shard 0 is at version 1 as before it, though it added 2 gradients"),
        (
            changed("applied", 1, 1, piece(1, 2)),
            "Shard 1 is at version 2 another than before it, and added no gradient",
        ),
        (
            [*course(), replace(applied(0, 2), what=("twice added", *applied(0, 2).what[1:]))],
            "Shard 0 made version 3 when it had version 3",
        ),
        (
            [*course(), given(0, 2), replace(applied(0, 2), what=("other", *applied(0, 2).what[1:]))],
            "Shard 0 made version 3 in 2 ways",
        ),
        ([*course(), applied(0, 3, process=2)], "Shard 0 made version 4 when it had version None"),
        (
            [*course(), replace(given(0, 3, process=2), what=("first weights",))],
            "Shard 0 was given as version 3 something else",
        ),
        ([given(0, 5), *course()[1:]], "Shard 0 was given version 5, which it never made"),
        (
            changed("applied", 1, 1, piece(1, 2), gradient(0, 1, 1)),
            r"Shards added \[2, 1\] gradients to version 1",
        ),
        (
            changed("applied", 1, 1, gradient(1, 1, 0), only=2),
            "Shards added gradients of different workers to version 1",
        ),
        (changed("applied", 0, 1, "nobody's", only=1), "Shard 0 added to version 1 what no worker"),
    ],
)
def test_what_must_never_happen_is_found(seen: list[Seen], words: str) -> None:
    with pytest.raises(Violation, match=words):
        check(seen, SHARDS, ACCEPTED, UPDATES)


def test_what_the_driver_says_is_compared_with_what_was_added() -> None:
    with pytest.raises(
        Violation, match=r"version 1 \[\(0, 1\), \(1, 1\)\] were added, but .* accepted \[\(0, 1\)\]"
    ):
        check(course(), SHARDS, {**ACCEPTED, 1: [(0, 1)]}, UPDATES)
    with pytest.raises(Violation, match=r"but its round accepted \[\]"):
        check(course(), SHARDS, {0: ACCEPTED[0]}, UPDATES)


def test_no_gradient_is_added_twice() -> None:
    """Not even where the driver says so, and all shards agree."""
    seen = [
        replace(e, what=(e.what[0], gradient(0, e.number, 0), e.what[2]))
        if e.point == "applied" and e.version == 1
        else e
        for e in course()
    ]
    with pytest.raises(Violation, match=r"The gradient \(0, 0\) was added to versions 0 and 1"):
        check(seen, SHARDS, {**ACCEPTED, 1: [(0, 0), (1, 1)]}, UPDATES)


# -- what real workers and shards write down --------------------------------------------------------------------------


@pytest.fixture
def unwatched() -> Iterator[None]:
    yield
    points.watch(None)


def carried_out(folder: Path, mixed_at: int = -1, other_at: int = -1) -> list[Seen]:
    """Run actors in this process, without Ray, and return all notes.

    Args:
        folder: folder of the notes.
        mixed_at: version at which a worker is sent a piece of the version before.
        other_at: version to which one shard adds one gradient several times instead of the others.
    """
    strikes = Strikes(folder)
    setting = Setting(partial(names.task, "logistic"), 8, 0)
    net = net_of(setting.task(), 0)
    vector, (layout, sizes) = net.vector.numpy().copy(), net.layout
    cuts = Slices(len(vector), SHARDS).all
    tellings = [Telling(tuple(layout), tuple(sizes), "", cut) for cut in cuts]
    servers = [ShardActor(k, "momentum", telling, strikes) for k, telling in enumerate(tellings)]
    workers = [WorkerActor(setting, w, SHARDS, strikes) for w in range(WORKERS)]
    reckoning = Reckoning(Recipe(0.3), WORKERS, 8)
    versions = [[vector[cut] for cut in cuts]]
    for k, shard in enumerate(servers):
        # All actors share this process: the one named last is the one whose points are written.
        strikes("shard", k)
        shard.give(0, versions[0][k], {})
    for version in range(UPDATES):
        done = []
        for w, worker in enumerate(workers):
            strikes("worker", w)
            mixed = [versions[-1][0], versions[-2][1]] if version == mixed_at and w == 1 else versions[-1]
            done.append(worker.compute(Job(w, version, version), version, *mixed))
        order = reckoning.order(0, version, [came for came, *_ in done])
        made = []
        for k, shard in enumerate(servers):
            strikes("shard", k)
            gradients = [pieces[k] for _, *pieces in done]
            added = [gradients[0]] * WORKERS if version == other_at and k == 1 else gradients
            _, parameters, _ = shard.apply(order, *added)
            assert parameters is not None
            made.append(parameters)
        versions.append(made)
    return strikes.seen()


@pytest.mark.usefixtures("unwatched")
def test_actors_write_down_what_the_checker_needs(tmp_path: Path) -> None:
    for name in ("good", "mixed", "other"):
        (tmp_path / name).mkdir()
    assert sorted(check(carried_out(tmp_path / "good"), SHARDS, ACCEPTED, UPDATES)) == [0, 1, 2, 3]
    with pytest.raises(
        Violation, match=r"Worker 1 was given with version 2 of shard 1 what it had at version \[1\]"
    ):
        check(carried_out(tmp_path / "mixed", mixed_at=2), SHARDS, ACCEPTED, UPDATES)
    with pytest.raises(Violation, match="Shards added gradients of different workers to version 1"):
        check(carried_out(tmp_path / "other", other_at=1), SHARDS, ACCEPTED, UPDATES)
