"""The driver's side of the workers, with actors that are no processes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tailcut.engines.servers import crew as crews
from tailcut.engines.servers.cluster import load_ray
from tailcut.engines.servers.crew import MOST_DEATHS, Back, Crew, Done, Failed, Gone, Happening
from tailcut.engines.servers.failures import ServersError
from tailcut.engines.servers.orders import Came, Job
from tailcut.engines.servers.shards import Manifest

MANIFEST = Manifest(0, ("parameters",), ("state",))
JOB = Job(0, 0, 0)


class Actor:
    """Answers every call as it is told to."""

    def __init__(self, hello: Any = "hello", compute: Any = None) -> None:
        self.hello, self.compute, self.drop = _Call(hello, True), _Call(compute), _Call(None)


class _Call:
    def __init__(self, answer: Any, is_one: bool = False) -> None:
        self._answer, self._is_one = answer, is_one

    def options(self, **_: Any) -> _Call:
        return self

    def remote(self, *_: Any) -> Any:
        future = asyncio.get_running_loop().create_future()
        if isinstance(self._answer, Exception):
            future.set_exception(self._answer)
        elif self._answer is not None:
            future.set_result(self._answer)
        return future if self._is_one else [future, "gradient"]


def crew_of(actor: Actor, news: list[Happening], said: list[str], clock: float = 0.0) -> Crew:
    return Crew(lambda worker: actor, lambda actor: None, 1, news.append, said.append, lambda: clock)


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_who_is_added_twice_is_hired_once() -> None:
    hired: list[int] = []

    def hire(worker: int) -> Actor:
        hired.append(worker)
        return Actor(hello=None)

    async def go() -> None:
        crew = Crew(hire, lambda actor: None, 1, lambda news: None, pytest.fail, lambda: 0.0)
        crew.add(3)
        crew.add(3)
        await settled()
        crew.close()

    asyncio.run(go())
    assert hired == [3]


def test_the_way_of_parameters_and_gradient_belongs_to_a_run_time() -> None:
    came = Came(JOB, run_time=2.0, samples=8, share=1.0, loss=0.0, finite=True, size=4, process=1)
    news: list[Happening] = []

    async def go() -> None:
        crew = crew_of(Actor(compute=came), news, [], clock=10.0)
        crew.add(0)
        await settled()
        crew.begin(JOB, MANIFEST)
        await settled()
        crew.close()

    asyncio.run(go())
    done = news[-1]
    assert isinstance(done, Done)
    assert done.moment == 12.0, "who was done first, by their own clocks"
    assert done.run_time(heard=12.5) == 2.5
    assert done.run_time(heard=11.0) == 2.0, "what was read together counts as of the same moment"


def test_a_worker_that_dies_whatever_it_does_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crews, "AGAIN", 0.0)
    # Do not import Ray here: its first import decides about tokens.
    killed = load_ray().exceptions.RayActorError(error_msg="It was killed.")
    news: list[Happening] = []
    said: list[str] = []

    async def go() -> None:
        crew = crew_of(Actor(compute=killed), news, said)
        crew.add(0)
        for _ in range(MOST_DEATHS + 1):
            await settled()
            crew.begin(JOB, MANIFEST)
        await settled()
        crew.close()

    asyncio.run(go())
    kinds = [type(each) for each in news]
    assert kinds == [*([Back, Gone] * MOST_DEATHS), Back, Failed]
    failed = news[-1]
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, ServersError)
    assert "Worker 0 has died 21 times before it was done with a mini-batch" in str(failed.error)
    assert said[0] == "Worker 0 has died; it is restarted, and takes part again when it is there."


def test_a_worker_that_dies_as_it_begins_is_told_and_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crews, "AGAIN", 0.0)
    killed = load_ray().exceptions.RayActorError(error_msg="It was killed.")
    news: list[Happening] = []
    said: list[str] = []

    async def go() -> None:
        crew = crew_of(Actor(hello=killed), news, said)
        crew.add(0)
        for _ in range(MOST_DEATHS):
            await settled()
        crew.close()

    asyncio.run(go())
    (failed,) = news
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, ServersError)
    assert "Worker 0 has died 21 times" in str(failed.error)
    assert said == ["Worker 0 has died 3 times as it began; it is tried again."]


def test_a_worker_that_is_being_started_has_not_died(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crews, "AGAIN", 0.0)
    monkeypatch.setattr(crews, "LATE", 0.0)
    away = load_ray().exceptions.ActorUnavailableError("It is being restarted.", b"0" * 16)
    news: list[Happening] = []
    said: list[str] = []

    async def go() -> None:
        crew = crew_of(Actor(hello=away), news, said)
        crew.add(0)
        for _ in range(MOST_DEATHS):
            await settled()
        crew.close()

    asyncio.run(go())
    assert news == []
    (line,) = said
    assert line.startswith("Worker 0 is not there after 0 s")


@pytest.mark.parametrize(("newest", "kinds"), [(0, [Back, Failed]), (1, [Back, Gone, Back, Back])])
def test_lost_parameters_end_a_job_and_only_the_newest_send_all_back(newest: int, kinds: list[type]) -> None:
    lost = load_ray().exceptions.ObjectLostError("00", "", "")
    news: list[Happening] = []

    async def go() -> None:
        actors = {0: Actor(compute=lost), 1: Actor()}
        crew = Crew(actors.__getitem__, lambda actor: None, 1, news.append, lambda line: None, lambda: 0.0)
        crew.add(0)
        await settled()
        crew.begin(JOB, MANIFEST)
        if newest:
            crew.add(1)
            crew.begin(Job(1, newest, 0), Manifest(newest, ("parameters",), ("state",)))
        await settled()
        crew.close()

    asyncio.run(go())
    assert [type(each) for each in news] == kinds


def test_lost_parameters_of_a_dropped_job_are_nobodys_concern() -> None:
    lost = load_ray().exceptions.ObjectLostError("00", "", "")
    news: list[Happening] = []

    async def go() -> None:
        crew = crew_of(Actor(compute=lost), news, [])
        crew.add(0)
        await settled()
        crew.begin(JOB, MANIFEST)
        crew.drop(0)
        await settled()
        crew.close()

    asyncio.run(go())
    assert [type(each) for each in news] == [Back]
