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
        self.hello, self.compute = _Call(hello), _Call(compute)


class _Call:
    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def options(self, **_: Any) -> _Call:
        return self

    def remote(self, *_: Any) -> Any:
        future = asyncio.get_running_loop().create_future()
        if isinstance(self._answer, Exception):
            future.set_exception(self._answer)
        elif self._answer is not None:
            future.set_result(self._answer)
        return future if self._answer == "hello" or self._answer is None else [future, "gradient"]


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
    # Not by an import: whoever imports Ray first decides about tokens.
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
