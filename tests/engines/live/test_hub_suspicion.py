"""A worker that was suspected and had only been slow is waited for longer the next time."""

from __future__ import annotations

from hub_scripts import applied, arrived, hello, hub

from tailcut.engines.live.controller.hub import Hub
from tailcut.engines.live.controller.suspicion import CALM, MAX_DOUBLINGS, PATIENCE
from tailcut.engines.live.messages import SILENCE, New, State


def reducing(it: Hub, now: float) -> int:
    """Bring all workers that are in the epoch into a reduction; return its version."""
    version = it.version
    for worker in it.places.there:
        it.handle(arrived(worker, version, epoch=it.epoch), now)
    return version


def give_up(it: Hub, *workers: int, version: int, now: float) -> list[New]:
    """Let these workers leave their reduction; return what the next epoch begins with."""
    epoch = it.epoch
    answers = [it.handle(State(1, epoch, worker, version, b"chain"), now) for worker in workers]
    return [message for each in answers for _, message in each if isinstance(message, New)]


def update(it: Hub, now: float) -> None:
    version = reducing(it, now)
    for worker in it.places.there:
        it.handle(applied(worker, version + 1, epoch=it.epoch), now)


def test_a_reduction_that_all_gave_up_alive_may_take_longer_the_next_time() -> None:
    it, found = hub(), []
    for turn in range(6):
        version = reducing(it, float(turn))
        found.append(give_up(it, 0, 1, 2, version=version, now=float(turn))[0].silence)
    assert found == [SILENCE * min(1 << turn, 1 << MAX_DOUBLINGS) for turn in range(1, 7)]


def test_who_is_expelled_and_back_soon_has_longer_to_answer_the_next_time() -> None:
    it = hub()
    give_up(it, 0, 2, version=reducing(it, 1.0), now=1.0)
    assert it.wake_at == 1.0 + PATIENCE
    it.tick(1.0 + PATIENCE)
    assert it.places.there == [0, 2]
    answers = it.handle(hello(1, term=1, epoch=1), 3.0)
    assert {message.silence for _, message in answers if isinstance(message, New)} == {2 * SILENCE}
    it.handle(applied(1, 0, epoch=it.epoch), 3.0)
    give_up(it, 0, 2, version=reducing(it, 4.0), now=4.0)
    assert it.wake_at == 4.0 + 2 * PATIENCE


def test_neither_a_death_nor_a_long_absence_changes_the_limits() -> None:
    it = hub()
    version = reducing(it, 1.0)
    it.lost(1, 1.0)
    assert {new.silence for new in give_up(it, 0, 2, version=version, now=1.1)} == {SILENCE}
    it.handle(hello(1, process=9), 2.0)
    it.handle(applied(1, 0, epoch=it.epoch), 2.0)
    give_up(it, 0, 2, version=reducing(it, 3.0), now=3.0)
    it.tick(3.0 + PATIENCE)
    assert it.places.there == [0, 2]
    answers = it.handle(hello(1, process=9, term=1, epoch=1), 100.0)
    assert {message.silence for _, message in answers if isinstance(message, New)} == {SILENCE}


def test_the_limits_fall_again_when_updates_come_in_time() -> None:
    it = hub()
    give_up(it, 0, 1, 2, version=reducing(it, 1.0), now=1.0)
    for turn in range(CALM):
        update(it, 2.0 + turn)
    it.lost(2, 1000.0)
    give_up(it, 0, version=reducing(it, 1001.0), now=1001.0)
    assert it.wake_at == 1001.0 + PATIENCE
