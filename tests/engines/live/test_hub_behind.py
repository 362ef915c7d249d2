"""A worker that has missed more updates than the others keep joins, and no net becomes an older one."""

from __future__ import annotations

from hub_scripts import applied, arrived, bye, hello, hub

from tailcut.engines.live.controller.change import NO_STATE
from tailcut.engines.live.controller.hub import Hub
from tailcut.engines.live.controller.suspicion import PATIENCE
from tailcut.engines.live.messages import Again, Hello, New, Refused
from tailcut.rules import Backup


def ahead(rounds: int, total: int | None = None) -> Hub:
    """A run in which workers 0 and 1 have made so many rounds since worker 2 was heard of."""
    it = hub(Backup(c=2), total=total)
    for version in range(rounds):
        for worker in (0, 1):
            it.handle(arrived(worker, version), 1.0 + version)
        for worker in (0, 1):
            it.handle(applied(worker, version + 1), 1.5 + version)
    assert it.version == rounds
    return it


def behind(**more: int) -> Hello:
    """Return the Hello of worker 2 that lacks updates which no other worker can give it."""
    return hello(2, term=1, epoch=1, is_behind=True, **more)


def test_who_cannot_catch_up_joins_with_a_copy_of_the_state() -> None:
    it = ahead(3)
    answers = it.handle(behind(), 5.0)
    joined = [message for _, message in answers if isinstance(message, New)]
    assert [worker for worker, message in answers if isinstance(message, New)] == [0, 1, 2]
    assert {(each.epoch, each.base, each.holder, each.joiners) for each in joined} == {(2, 3, 0, (2,))}


def test_who_reduces_completes_that_before_somebody_behind_joins() -> None:
    it = ahead(3)
    it.handle(arrived(0, 3), 5.0)
    it.handle(arrived(1, 3), 5.0)
    assert it.handle(behind(), 5.1) == []
    it.handle(applied(0, 4), 5.2)
    answers = it.handle(applied(1, 4), 5.3)
    assert {(each.base, each.joiners) for _, each in answers if isinstance(each, New)} == {(4, (2,))}


def test_who_is_behind_when_the_run_is_over_is_told_so() -> None:
    it = ahead(3, total=3)
    ((_, refused),) = it.handle(behind(), 5.0)
    assert isinstance(refused, Refused)
    assert "missed more updates than the others keep, and the run is over" in refused.why


def test_when_all_others_die_the_run_goes_on_from_what_is_left() -> None:
    it = ahead(3)
    it.handle(behind(), 5.0)
    it.lost(0, 5.1)
    ((_, again),) = it.lost(1, 5.2)
    assert isinstance(again, Again)
    ((_, goes_on),) = it.handle(behind(), 5.3)
    assert isinstance(goes_on, New)
    assert (goes_on.members, goes_on.base, goes_on.joiners) == ((2,), 0, ())


def test_when_all_others_have_left_with_a_newer_net_no_older_one_goes_on() -> None:
    it = ahead(3)
    it.handle(bye(0, 3), 5.0)
    it.handle(bye(1, 3), 5.0)
    ((_, again),) = it.handle(behind(), 5.1)
    assert isinstance(again, Again)
    assert not any(isinstance(message, New) for _, message in it.handle(behind(), 5.2))
    it.tick(5.3 + PATIENCE)
    assert it.why == NO_STATE
