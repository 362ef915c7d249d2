"""Looks at the net, and what counts after the run has gone back."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tailcut import names
from tailcut.engines.look import Look
from tailcut.engines.servers.computing import net_of
from tailcut.engines.servers.course import Begin, Course
from tailcut.engines.servers.keeping import Keeping, read_newest
from tailcut.engines.servers.looks import Looks
from tailcut.engines.servers.shards import Manifest
from tailcut.events import Applied, Joined
from tailcut.noise import Noise
from tailcut.round import Rounds
from waiting import limit

TASK = names.task("logistic")
REACHED = replace(TASK.target, figure="loss", at="most", value=1e9)


def manifest(version: int) -> Manifest:
    """The store is a list of the things themselves."""
    return Manifest(version, (net_of(TASK, 0).vector.numpy().copy(),), ({},))


def looks(said: list[Look], **more: Any) -> Looks:
    usual: dict[str, Any] = {"target": None, "every": 1, "total": 100}
    return Looks(TASK, 0, lambda refs: refs, say=said.append, **(usual | more))


async def taken(found: Looks) -> None:
    """Look at all that was offered."""
    work = asyncio.get_running_loop().create_task(found.work())
    await found.finish()
    work.cancel()


def test_what_came_after_the_version_gone_back_to_never_was() -> None:
    found = looks([], target=REACHED)

    async def go() -> None:
        for version in (1, 2, 3):
            found.offer(manifest(version), float(version))
        await taken(found)
        assert found.arrived
        found.go_back(0)
        assert (found.taken, found.arrived) == ([], False)

    asyncio.run(go())


def test_a_look_that_comes_too_late_for_a_return_counts_if_its_version_still_is() -> None:
    found = looks([])

    async def go() -> None:
        for version in (1, 2, 3):
            found.offer(manifest(version), float(version))
        found.go_back(2)
        found.offer(manifest(3), 9.0)
        await taken(found)

    asyncio.run(go())
    assert [(look.version, look.seconds) for look in found.taken] == [(1, 1.0), (2, 2.0), (3, 9.0)]


def test_a_failed_look_is_told() -> None:
    found = looks([])

    async def go() -> None:
        found.offer(replace(manifest(1), parameters=(np.zeros(3),)), 0.0)
        await taken(found)

    asyncio.run(go())
    assert found.failed is not None


@pytest.mark.parametrize(("name", "number"), [("async", 7), ("wait-all", 0)])
def test_where_mini_batches_go_by_a_worker_s_own_count_the_count_goes_on(name: str, number: int) -> None:
    entrant = names.entrant(name)
    course = Course(Rounds(entrant.policy, entrant.acceptance), begun={0: 7})
    course.handle(Joined(0.0, 0))
    (begin,) = course.handle(Applied(0.0, 0))
    assert isinstance(begin, Begin)
    assert begin.job.number == number
    assert course.begun == ({0: 8} if name == "async" else {})


def test_the_count_is_kept_with_the_parameters(tmp_path: Any) -> None:
    policy = names.entrant("wait-all").policy
    keeping = Keeping(tmp_path, 1, {"seed": 0}, lambda refs: refs, say=pytest.fail)

    async def go() -> None:
        work = asyncio.get_running_loop().create_task(keeping.work())
        keeping.offer(manifest(4), Noise(), {0: 7, 3: 2}, policy.start, is_last=False)
        await keeping.finish()
        work.cancel()

    asyncio.run(go())
    kept = read_newest(tmp_path, pytest.fail)
    assert kept is not None
    assert (kept.whole.version, kept.begun, kept.run) == (4, {0: 7, 3: 2}, {"seed": 0})


def test_a_checkpoint_that_nobody_can_be_told_of_is_not_waited_for(tmp_path: Any) -> None:
    def say(line: str) -> None:
        raise OSError(line)

    keeping = Keeping(tmp_path, 1, {"seed": object()}, lambda refs: refs, say)

    async def go() -> None:
        work = asyncio.get_running_loop().create_task(keeping.work())
        keeping.offer(manifest(4), Noise(), {}, names.entrant("wait-all").policy.start, is_last=False)
        async with asyncio.timeout(limit(60)):
            await keeping.finish()
        work.cancel()

    asyncio.run(go())
    assert list(tmp_path.glob("v*")) == []


def test_the_last_version_is_kept_whichever_it_is(tmp_path: Any) -> None:
    keeping = Keeping(tmp_path, 5, {"seed": 0}, lambda refs: refs, say=pytest.fail)
    start = names.entrant("wait-all").policy.start

    async def go() -> None:
        work = asyncio.get_running_loop().create_task(keeping.work())
        for version, is_last in ((4, False), (5, False), (6, False), (7, True)):
            keeping.offer(manifest(version), Noise(), {}, start, is_last)
        await keeping.finish()
        work.cancel()

    asyncio.run(go())
    assert sorted(file.name for file in tmp_path.glob("v*")) == [
        "v00000005.safetensors",
        "v00000007.safetensors",
    ]
