"""The driver's side of the shards, with actors in this process: deaths, and lost gradients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tailcut.engines.servers import shards as sides
from tailcut.engines.servers.cluster import load_ray
from tailcut.engines.servers.failures import GradientsLostError, ServersError, ShardLostError, is_actor_gone
from tailcut.engines.servers.making import Maker
from tailcut.engines.servers.orders import Answer, Order
from tailcut.engines.servers.shards import MOST_DEATHS, Manifest, Shards

ORDER = Order("0.0", 0, 0.1, (), (), (), 1.0, 1.0)


class _Call:
    """A method of an actor that answers with the given values in turn; the last repeats."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.count = 0

    def options(self, **_: Any) -> _Call:
        return self

    def remote(self, *_: Any) -> Any:
        self.count += 1
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        future = asyncio.get_running_loop().create_future()
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
        return future


class Actor:
    """A shard that applies as it is told to, and takes what it is given."""

    def __init__(self, *apply: Any, give: Any = None) -> None:
        self.apply, self.give = _Apply(*apply), _Call(give)
        self.go_back = _Call(Answer(0, 0))


class _Apply(_Call):
    def remote(self, *_: Any) -> Any:
        return [super().remote(), "parameters", "state"]


class _Never(_Call):
    def remote(self, *_: Any) -> Any:
        return asyncio.get_running_loop().create_future()


class _Reckoning:
    """Return the same update each time."""

    clips = False

    def order(self, term: int, version: int, came: Any) -> Order:
        return ORDER

    def made(self, *_: Any) -> None:
        return None


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sides, "AGAIN", 0.0)


def killed() -> Exception:
    # Do not import Ray here: its first import decides about tokens.
    error: Exception = load_ray().exceptions.RayActorError(error_msg="It was killed.")
    return error


def lost() -> Exception:
    error: Exception = load_ray().exceptions.ObjectLostError("00", "", "")
    return error


def tried(actor: Actor, what: Callable[[Shards], Any], said: list[str] | None = None) -> Any:
    async def go() -> Any:
        shards = Shards([actor], ([] if said is None else said).append)
        shards.manifest = Manifest(0, ("parameters",), ("state",))
        return await what(shards)

    return asyncio.run(go())


def made(shards: Shards) -> Any:
    return Maker(shards, _Reckoning()).make(0, [])  # type: ignore[arg-type]


def test_a_shard_that_dies_once_is_given_its_piece_and_told_again() -> None:
    actor, said = Actor(killed(), Answer(0, 1)), list[str]()
    found = tried(actor, made, said)
    assert (found.version, found.skipped) == (1, "")
    assert actor.give.count == 1
    assert said == ["Server shard 0 has died; it is restarted and given its parameters again."]


def test_a_shard_that_dies_in_every_update_ends_the_run() -> None:
    """The shard lost no gradient: a version without an update would be a run that learns nothing."""
    actor = Actor(killed())
    with pytest.raises(ServersError, match=f"shard 0 has died {MOST_DEATHS + 1} times in update 0.0"):
        tried(actor, made)
    assert actor.apply.count == MOST_DEATHS + 1


def test_only_lost_gradients_leave_a_version_as_it_was() -> None:
    found = tried(Actor(lost(), Answer(0, 1)), made)
    assert found.version == 1
    assert found.skipped == "A gradient that shard 0 needs is gone with its node."
    with pytest.raises(GradientsLostError):
        tried(Actor(lost()), lambda shards: shards.apply(ORDER, []))


def test_lost_parameters_are_no_lost_gradients() -> None:
    with pytest.raises(ShardLostError, match="The parameters of shard 0 are gone"):
        tried(Actor(killed(), give=lost()), made)


def test_a_shard_has_as_long_to_come_back_as_to_come() -> None:
    async def go() -> None:
        actor = Actor(killed())
        shards = Shards([actor], lambda line: None, patience=0.01)
        await shards.give(Manifest(0, ("parameters",), ("state",)))
        actor.give = _Never()
        await shards.apply(ORDER, [])

    with pytest.raises(ShardLostError, match=r"was not there after 0\.01 s"):
        asyncio.run(go())


def test_who_is_ended_by_the_memory_monitor_is_gone_too() -> None:
    assert is_actor_gone(load_ray().exceptions.OutOfMemoryError("Memory is low."))
    assert not is_actor_gone(lost())
