"""A controller takes the place of one that was killed: it learns from the workers where the run stands."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hub_scripts import ALIKE, hello

from tailcut.engines.live.controller.change import NO_STATE
from tailcut.engines.live.controller.checks import MOST_MEETINGS
from tailcut.engines.live.controller.hub import Hub
from tailcut.engines.live.controller.roll_call import GRACE, LAST, RESTART
from tailcut.engines.live.messages import Applied, Arrived, Bye, Close, Free, Hello, Meet, New, Refused, State
from tailcut.forecast import NoForecast
from tailcut.policy import Policy
from tailcut.round import Rounds
from tailcut.rules import WaitAll


def successor(workers: int = 3, term: int = 2, **more: Any) -> Hub:
    """Return a controller that has received no message."""
    return Hub(Rounds(Policy(NoForecast(), WaitAll())), workers, term=term, **more)


def was_at(worker: int, version: int, epoch: int = 4, term: int = 1, **more: Any) -> Hello:
    """A worker that was in the run."""
    chain = more.pop("chain", b"chain%d" % version)
    return hello(worker, term=term, epoch=epoch, version=version, chain=chain, **more)


def told(answers: list[tuple[int, Any]]) -> New:
    """The epoch that all are told of."""
    [new] = {message for _, message in answers if isinstance(message, New)}
    return new


def test_it_goes_on_from_the_newest_version_with_the_next_epoch() -> None:
    it = successor()
    assert it.handle(was_at(0, 7), 0.0) == []
    assert it.handle(was_at(1, 8), 0.1) == []
    new = told(it.handle(was_at(2, 7), 0.2))
    assert (new.term, new.epoch, new.base, new.holder, new.joiners) == (2, 5, 8, 1, ())
    assert it.version == 8
    for worker in range(3):
        answers = it.handle(Arrived(2, 5, worker, 8, 8, 1.0, 1.0, True), 1.0)
    assert isinstance(answers[0][1], Close)


def test_the_numbers_that_workers_began_with_do_not_count_once_they_are_in_the_run() -> None:
    it = successor(2)
    it.handle(was_at(0, 7, workers=2, alike=msgspec.structs.replace(ALIKE, numbers="of version 0")), 0.0)
    copied = was_at(1, 7, workers=2, alike=msgspec.structs.replace(ALIKE, numbers="before it copied"))
    assert told(it.handle(copied, 0.1)).base == 7


def test_a_newcomer_does_not_begin_the_run_anew_before_the_others_come() -> None:
    it = successor()
    assert it.handle(hello(1), 0.0) == []
    assert it.wake_at is None, "those who compute for long have the state"
    it.handle(was_at(0, 7), 5.0)
    assert it.wake_at == 5.0 + GRACE
    new = told(it.tick(5.0 + GRACE))
    assert (new.members, new.joiners, new.base, new.holder) == ((0, 1), (1,), 7, 0)


def test_a_newcomer_waits_on_where_the_only_one_that_had_the_state_is_lost_again() -> None:
    it = successor()
    it.handle(hello(1), 0.0)
    it.handle(was_at(0, 7), 5.0)
    it.lost(0, 5.1)
    assert it.wake_at is None


def test_who_says_nothing_is_waited_for_only_a_while_and_joins_later() -> None:
    it = successor()
    it.handle(was_at(0, 7), 1.0)
    it.handle(was_at(2, 7), 1.1)
    assert it.wake_at == 1.0 + GRACE
    assert it.tick(1.0 + GRACE - 0.01) == []
    new = told(it.tick(1.0 + GRACE))
    assert (new.members, new.base) == ((0, 2), 7)
    new = told(it.handle(was_at(1, 6), 9.0))
    assert (new.epoch, new.members, new.joiners, new.base) == (6, (0, 1, 2), (1,), 7)


def test_after_one_that_had_lost_everybody_a_run_does_not_begin_anew() -> None:
    it = successor(follows_loss=True)
    answers = [*it.handle(hello(0), 0.0), *it.handle(hello(1), 0.1), *it.handle(hello(2), 0.2)]
    assert [type(message) for _, message in answers] == [Refused] * 3
    assert it.why == NO_STATE


@pytest.mark.parametrize("first", [was_at(0, 7), hello(0, version=7, chain=b"chain7")], ids=["there", "kept"])
def test_after_one_that_had_lost_everybody_it_goes_on_with_who_has_a_state(first: Hello) -> None:
    it = successor(follows_loss=True)
    it.handle(first, 0.0)
    it.handle(hello(1), 0.1)
    new = told(it.handle(hello(2), 0.2))
    assert (new.base, new.holder, new.joiners) == (7, 0, (1, 2))


def test_before_anybody_has_spoken_there_is_nothing_to_wake_up_for() -> None:
    it = successor()
    assert it.wake_at is None
    it.handle(was_at(0, 7), 1.0)
    it.lost(0, 1.1)
    assert it.wake_at is None
    assert it.tick(99.0) == []


def test_who_was_not_in_the_last_epoch_may_have_another_history_and_copies() -> None:
    it = successor()
    it.handle(was_at(0, 9, epoch=3, chain=b"of its own"), 0.0)
    it.handle(was_at(1, 8, epoch=4), 0.0)
    new = told(it.handle(was_at(2, 7, epoch=4), 0.0))
    assert (new.base, new.holder, new.joiners, new.epoch) == (8, 1, (0,), 5)


def test_a_later_term_counts_more_than_an_epoch() -> None:
    it = successor(term=3)
    it.handle(was_at(0, 9, epoch=6, term=1, chain=b"of its own"), 0.0)
    it.handle(was_at(1, 8, epoch=5, term=2), 0.0)
    new = told(it.handle(was_at(2, 8, epoch=5, term=2), 0.0))
    assert (new.base, new.joiners, new.epoch) == (8, (0,), 7)


def test_one_that_was_started_again_meanwhile_copies() -> None:
    it = successor()
    it.handle(was_at(0, 7), 0.0)
    it.handle(was_at(1, 7), 0.0)
    new = told(it.handle(hello(2), 0.0))
    assert (new.base, new.joiners) == (7, (2,))


def test_if_none_has_begun_they_begin_together() -> None:
    it = successor()
    it.handle(hello(0), 0.0)
    it.handle(hello(1), 0.0)
    new = told(it.handle(hello(2), 0.0))
    assert (new.term, new.epoch, new.base, new.joiners) == (2, 1, 0, ())


def test_two_histories_of_one_epoch_are_no_run() -> None:
    it = successor(2)
    it.handle(was_at(0, 7, workers=2), 0.0)
    answers = it.handle(was_at(1, 7, workers=2, chain=b"other"), 0.0)
    assert {type(message) for _, message in answers} == {Refused}
    assert "not by the same updates" in str(it.why)
    assert it.over


@pytest.mark.parametrize("version", [5, 6])
def test_a_run_that_is_over_is_over_for_its_successor_too(version: int) -> None:
    it = successor(2, total=5)
    it.handle(was_at(0, version, workers=2), 0.0)
    answers = it.handle(was_at(1, 5, workers=2), 0.0)
    assert [type(message).__name__ for _, message in answers] == ["New", "New", "Over", "Over"]


def test_who_has_left_a_run_that_is_over_waits_for_who_still_needs_it() -> None:
    it = successor(2, total=5)
    assert it.handle(was_at(0, 5, workers=2), 0.0) == []
    assert it.wake_at == LAST, "the other may compute for long, and lacks the last version"
    new = told(it.handle(was_at(1, 4, workers=2), 10.0))
    assert (new.base, new.holder, new.members) == (5, 0, (0, 1))
    assert it.handle(Bye(2, 5, 0, 5), 10.1) == [], "the other fetches it from the one that has left"
    answers = it.handle(Bye(2, 5, 1, 5), 10.2)
    assert [(worker, type(message)) for worker, message in answers] == [(0, Free), (1, Free)]
    assert it.over


@pytest.mark.parametrize("least", [1, 2])
def test_who_has_left_a_run_that_is_over_waits_not_for_ever(least: int) -> None:
    it = successor(2, total=5, min_workers=least)
    it.handle(was_at(0, 5, workers=2), 0.0)
    assert it.standstill(10.0, 5.0) is None, "it has an end of its own"
    assert told(it.tick(LAST)).members == (0,)
    assert [type(message) for _, message in it.handle(Bye(2, 5, 0, 5), LAST)] == [Free]
    assert it.over


def test_resumed_from_a_checkpoint_that_only_one_has_the_others_copy_it() -> None:
    it = successor(3, term=1)
    it.handle(hello(0, version=0), 0.0)
    it.handle(hello(1, version=40, chain=b"kept"), 0.0)
    new = told(it.handle(hello(2, version=0), 0.0))
    assert (new.epoch, new.base, new.holder, new.joiners) == (1, 40, 1, (0, 2))


@pytest.mark.parametrize("version", [9, 2**63 - 1, -1])
def test_nobody_can_be_at_a_version_that_nobody_has_made(version: int) -> None:
    it = successor(2)
    it.handle(was_at(0, 7, workers=2), 0.0)
    it.handle(was_at(1, 7, workers=2), 0.0)
    for message in (
        Arrived(2, 5, 1, version, 8, 1.0, 1.0, True),
        Applied(2, 5, 1, version, b""),
        State(2, 5, 1, version, b""),
        Bye(2, 5, 1, version),
        was_at(1, version, term=2, epoch=5, workers=2),
    ):
        ((_, refused),) = it.handle(message, 1.0)
        assert isinstance(refused, Refused)
        assert f"at version {version}, but the newest is 7" in refused.why
    assert it.places[1].has == 7


@pytest.mark.parametrize(
    ("samples", "share"), [(2**41, 1.0), (-1, 1.0), (8, 1e-300), (8, 1.5), (8, float("nan"))]
)
def test_an_arrival_without_sense_is_refused(samples: int, share: float) -> None:
    it = successor(1)
    it.handle(was_at(0, 7, workers=1), 0.0)
    ((_, refused),) = it.handle(Arrived(2, 5, 0, 7, samples, share, 1e308, True), 1.0)
    assert isinstance(refused, Refused)


def test_meetings_are_bounded() -> None:
    it = successor(1)
    it.handle(was_at(0, 7, workers=1), 0.0)
    for every in range(1, MOST_MEETINGS + 1):
        assert it.handle(Meet(2, 5, 0, every), 1.0) == []
    ((_, refused),) = it.handle(Meet(2, 5, 0, MOST_MEETINGS + 1), 1.0)
    assert isinstance(refused, Refused)


def test_a_successor_begins_with_no_fewer_than_min_workers() -> None:
    it = successor(3, min_workers=2)
    assert it.handle(was_at(1, 8), 0.0) == []
    assert (it.wake_at, it.tick(5.0)) == (None, [])
    assert it.handle(was_at(0, 7), 6.0) == []
    assert it.wake_at is not None
    assert it.wake_at <= 6.0, "who is missing had its time"
    new = told(it.tick(6.0))
    assert (new.members, new.base, new.holder) == ((0, 1), 8, 1)


# After all with a state were lost.


@pytest.mark.parametrize("version", [0, 40])
def test_newcomers_take_a_run_up_that_has_lost_its_state_from_the_newest_checkpoint(version: int) -> None:
    it = successor(follows_loss=True, resumes=True)
    it.handle(hello(0, version=version), 0.0)
    it.handle(hello(1), 0.0)
    new = told(it.handle(hello(2, version=version), 0.0))
    joiners = (1,) if version else ()
    assert (new.term, new.epoch, new.base, new.holder, new.joiners) == (2, 1, version, 0, joiners)
    assert it.resumed_at == version


def test_without_checkpoints_a_run_that_has_lost_its_state_fails() -> None:
    it = successor(2, follows_loss=True)
    it.handle(hello(0, 2), 0.0)
    it.handle(hello(1, 2), 0.0)
    assert (it.why, it.resumed_at) == (NO_STATE, None)


def test_a_run_whose_workers_are_all_new_tells_where_it_continues() -> None:
    it = successor(2)
    it.handle(hello(0, 2, version=40), 0.0)
    it.handle(hello(1, 2, version=40), 0.0)
    assert it.resumed_at == 40


def test_a_worker_with_a_state_counts_more_than_checkpoints() -> None:
    it = successor(follows_loss=True, resumes=True)
    it.handle(hello(0, version=40, chain=b"kept"), 0.0)
    it.handle(hello(1, version=40, chain=b"kept"), 0.0)
    new = told(it.handle(was_at(2, 47), 0.1))
    assert (new.base, new.holder, new.joiners) == (47, 2, (0, 1))
    assert it.resumed_at is None


def test_a_worker_that_is_not_started_again_is_waited_for_only_a_while() -> None:
    it = successor(follows_loss=True, resumes=True, min_workers=2)
    it.handle(hello(0, version=40), 0.0)
    assert it.wake_at is None, "one is too few"
    it.handle(hello(2, version=40), 5.0)
    assert it.wake_at == 5.0 + RESTART
    assert told(it.tick(5.0 + RESTART)).members == (0, 2)
    it = successor(follows_loss=False, resumes=True)
    it.handle(hello(0), 0.0)
    assert it.wake_at is None, "the run may just have begun"
