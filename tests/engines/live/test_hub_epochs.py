"""Workers or the hub die: which workers resume, from which version, and no update is lost or forked."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hub_scripts import ALIKE, applied, arrived, bye, hello, hub

from tailcut.engines.live.controller.change import NO_STATE
from tailcut.engines.live.controller.hub import Hub
from tailcut.engines.live.controller.suspicion import PATIENCE
from tailcut.engines.live.messages import SILENCE, Again, Close, Go, Hello, New, Over, Refused, State, Stop
from tailcut.forecast import NoForecast
from tailcut.policy import Policy
from tailcut.round import Rounds
from tailcut.rules import Backup, WaitAll
from tailcut.types import RoundRecord


def new(epoch: int, base: int, holder: int, *members: int) -> New:
    return New(1, epoch, members, tuple(f"tcp://here:{worker}" for worker in members), base, holder)


def state(worker: int, version: int, **more: Any) -> State:
    return State(1, more.get("epoch", 1), worker, version, b"chain%d" % version)


def all_arrive(it: Hub, *workers: int, version: int = 0, epoch: int = 1, now: float = 1.0) -> Close:
    """Send the arrival of these workers, and return the close that follows."""
    answers = [it.handle(arrived(worker, version, epoch=epoch), now) for worker in workers]
    (closed,) = {message for _, message in answers[-1]}
    assert isinstance(closed, Close)
    return closed


def test_who_dies_while_it_computes_is_not_waited_for() -> None:
    it = hub()
    assert it.lost(2, 0.5) == [(0, new(2, 0, 0, 0, 1)), (1, new(2, 0, 0, 0, 1))]
    closed = all_arrive(it, 0, 1, epoch=2)
    assert (closed.epoch, closed.version, closed.accepted) == (2, 0, (0, 1))


@pytest.mark.parametrize(
    ("said", "is_local"),
    [
        (("here", "here", "here"), True),
        (("here", "here", "there"), False),
        (("", "", ""), False),
        (("here", "", ""), False),
    ],
)
def test_an_epoch_is_local_if_all_its_members_say_the_same(said: tuple[str, ...], is_local: bool) -> None:
    it = Hub(Rounds(Policy(NoForecast(), WaitAll())), 3)
    answers = [it.handle(hello(worker, local=local), 0.0) for worker, local in enumerate(said)]
    assert [message.is_local for _, message in answers[-1] if isinstance(message, New)] == [is_local] * 3


def test_it_is_so_for_those_who_are_left() -> None:
    it = Hub(Rounds(Policy(NoForecast(), WaitAll())), 3)
    for worker, local in enumerate(("here", "here", "there")):
        it.handle(hello(worker, local=local), 0.0)
    it.think()
    assert [message.is_local for _, message in it.lost(2, 0.5) if isinstance(message, New)] == [True, True]


def test_who_waits_says_so_again_in_the_new_epoch() -> None:
    it = hub()
    it.handle(arrived(0), 0.4)
    it.lost(2, 0.5)
    assert it.handle(arrived(1), 0.6) == [], "said before it knew of the new epoch"
    assert it.handle(arrived(1, epoch=2), 0.7) == []
    closed = [message for _, message in it.handle(arrived(0, epoch=2), 0.8)]
    assert isinstance(closed[0], Close)


def test_a_round_that_nobody_completed_is_reduced_again() -> None:
    it = hub()
    all_arrive(it, 0, 1, 2)
    assert it.lost(2, 1.1) == [], "the others may have completed it"
    assert it.handle(state(0, 0), 1.2) == []
    assert it.handle(state(1, 0), 1.2) == [(0, new(2, 0, 0, 0, 1)), (1, new(2, 0, 0, 0, 1))]
    assert all_arrive(it, 0, 1, epoch=2, now=1.3).version == 0


@pytest.mark.parametrize("first", ["death", "report", "state"])
def test_a_round_that_one_completed_is_adopted_by_all(first: str) -> None:
    it = hub()
    all_arrive(it, 0, 1, 2)
    events = {
        "death": lambda: it.lost(2, 1.1),
        "report": lambda: it.handle(applied(0, 1), 1.1),
        "state": lambda: it.handle(state(1, 0), 1.1),
    }
    answers = events.pop(first)()
    for event in events.values():
        answers += event()
    assert [message for _, message in answers if isinstance(message, New)] == [new(2, 1, 0, 0, 1)] * 2
    assert it.version == 1
    assert all_arrive(it, 0, 1, version=1, epoch=2, now=1.3).accepted == (0, 1)


def test_a_reduction_can_fail_without_a_death() -> None:
    it = hub()
    all_arrive(it, 0, 1, 2)
    it.handle(state(0, 0), 1.1)
    it.handle(state(1, 0), 1.1)
    ((who, message), *_) = it.handle(state(2, 0), 1.1)
    assert (who, message.epoch, message.base) == (0, 2, 0)  # type: ignore[union-attr]


def test_who_stays_in_a_reduction_is_expelled() -> None:
    it = hub()
    all_arrive(it, 0, 1, 2)
    it.handle(state(0, 0), 1.0)
    it.handle(state(2, 0), 1.5)
    assert it.wake_at == 1.0 + PATIENCE
    assert it.tick(1.0 + PATIENCE - 0.1) == []
    expelled, *rest = it.tick(1.0 + PATIENCE)
    assert expelled == (1, Again(1, 1))
    assert rest == [(0, new(2, 0, 0, 0, 2)), (2, new(2, 0, 0, 0, 2))]
    ((_, again),) = it.handle(applied(1, 1), 9.0)
    assert again == Again(1, 2), "it completed the round after the others gave it up"
    assert it.version == 0


def test_where_all_are_silent_nobody_is_expelled() -> None:
    it = hub()
    all_arrive(it, 0, 1, 2)
    it.lost(2, 1.0)
    assert it.tick(1.0 + PATIENCE) == []
    assert not it.over
    assert it.wake_at == 1.0 + 2 * PATIENCE, "they have as long again"
    it.handle(state(0, 0), 2.0)
    assert it.tick(1.0 + 2 * PATIENCE) == [], "the machine moves again: the other may be as slow as the first"
    assert it.wake_at == 2.0 + PATIENCE
    expelled, *rest = it.tick(2.0 + PATIENCE)
    assert expelled == (1, Again(1, 1))
    assert rest == [(0, new(2, 0, 0, 0))]


@pytest.mark.parametrize("is_over", [False, True], ids=["before the end", "at the end"])
def test_who_has_lost_everybody_before_the_end_says_so(is_over: bool) -> None:
    it = hub(total=1)
    all_arrive(it, 0, 1, 2)
    if is_over:
        for worker in range(3):
            it.handle(applied(worker, 1), 1.1)
    for worker in range(3):
        it.lost(worker, 1.2)
    assert it.tick(9.0) == []
    assert (it.over, it.deserted) == (True, not is_over)


def test_who_joins_has_nothing_to_go_on_from_without_the_silent() -> None:
    it = hub()
    all_arrive(it, 0, 1, 2)
    it.lost(2, 1.0)
    it.handle(hello(2, process=7), 1.1)
    assert it.tick(1.0 + PATIENCE) == []
    it.handle(state(0, 0), 2.0)
    answers = it.handle(state(1, 0), 2.0)
    assert {message for _, message in answers} == {
        msgspec.structs.replace(new(2, 0, 0, 0, 1, 2), joiners=(2,))
    }
    assert it.why is None


def test_who_was_expelled_says_hello_again_and_copies_the_state() -> None:
    it = hub()
    all_arrive(it, 0, 1, 2)
    it.handle(state(0, 0), 1.0)
    it.handle(state(2, 0), 1.5)
    it.tick(1.0 + PATIENCE)
    answers = it.handle(hello(1, term=1, epoch=1, version=1, chain=b"of its own"), 9.0)
    assert [who for who, _ in answers] == [0, 1, 2]
    joined = {message for _, message in answers}
    assert joined == {msgspec.structs.replace(new(3, 0, 0, 0, 1, 2), joiners=(1,))}


def test_who_says_hello_again_in_the_same_epoch_keeps_what_it_has() -> None:
    it = hub()
    all_arrive(it, 0, 1, 2)
    it.handle(applied(0, 1), 1.1)
    answers = it.handle(hello(1, term=1, epoch=1, version=1, chain=b"chain1"), 1.2)
    assert answers == [], "worker 2 is still in the reduction"
    answers = it.handle(applied(2, 1), 1.3)
    assert {message for _, message in answers} == {new(2, 1, 0, 0, 1, 2)}


def test_who_says_hello_again_out_of_a_reduction_breaks_it() -> None:
    it = hub()
    all_arrive(it, 0, 1, 2)
    it.handle(hello(1, term=1, epoch=1), 1.1)
    assert it.wake_at == 1.1 + PATIENCE
    it.handle(state(0, 0), 1.2)
    (begun,) = {message for _, message in it.handle(state(2, 0), 1.2)}
    assert begun == msgspec.structs.replace(new(2, 0, 0, 0, 1, 2), silence=2 * SILENCE)


def test_the_newest_version_is_not_given_up_while_somebody_may_have_it() -> None:
    it = hub(Backup(c=1))
    it.handle(arrived(0), 1.0)
    it.handle(applied(0, 1), 1.1)
    assert any(isinstance(message, Go) for _, message in it.handle(arrived(1), 1.2)), "it pulls from worker 0"
    assert it.lost(0, 1.3) == [(1, Stop(1, 1))]
    assert it.handle(state(1, 1), 1.4) == [(1, new(2, 1, 1, 1, 2)), (2, new(2, 1, 1, 1, 2))]
    assert it.version == 1


def test_a_version_whose_holders_are_all_dead_is_made_again() -> None:
    it = hub(Backup(c=1))
    it.handle(arrived(0), 1.0)
    it.handle(applied(0, 1), 1.1)
    it.handle(arrived(1), 1.2)
    it.lost(0, 1.3)
    assert it.handle(state(1, 0), 1.4) == [(1, new(2, 0, 1, 1, 2)), (2, new(2, 0, 1, 1, 2))]
    assert it.version == 0


def test_a_second_death_during_the_change() -> None:
    it = hub(workers=4)
    all_arrive(it, 0, 1, 2, 3)
    it.lost(3, 1.1)
    it.handle(state(0, 0), 1.2)
    it.handle(state(1, 0), 1.2)
    assert it.lost(2, 1.3) == [(0, new(2, 0, 0, 0, 1)), (1, new(2, 0, 0, 0, 1))]
    assert it.lost(1, 1.4) == [(0, new(3, 0, 0, 0))]
    assert it.lost(0, 1.5) == []
    assert it.over


def test_only_rounds_whose_update_was_made_are_told() -> None:
    records: list[RoundRecord] = []
    it = hub(records=records.append)
    all_arrive(it, 0, 1, 2)
    it.think()
    it.lost(2, 1.1)
    it.handle(state(0, 0), 1.2)
    it.handle(state(1, 0), 1.2)
    it.think()
    assert records == []
    all_arrive(it, 0, 1, epoch=2, now=2.0)
    it.handle(applied(0, 1, epoch=2), 2.1)
    it.think()
    assert [(record.version, len(record.accepted)) for record in records] == [(0, 2)]


def test_with_too_few_there_the_run_waits_and_goes_on_when_enough_are_back() -> None:
    it = hub(min_workers=2)
    it.lost(2, 0.5)
    assert it.too_few is None
    assert it.lost(1, 0.6) == []
    assert it.too_few == (
        "The run waits until 2 workers are there (min_workers), and has 1. Start those again that have ended."
    )
    assert it.handle(arrived(0, 0, epoch=2), 0.7) == [], "no round closes"
    assert (it.wake_at, it.tick(5.0), it.think()) == (None, [], [])
    answers = it.handle(comes_back(1), 6.0)
    joined = New(1, 3, (0, 1), ("tcp://here:0", "tcp://there:9"), 0, 0, (1,))
    assert answers == [(0, joined), (1, joined)]
    assert it.too_few is None
    assert all_arrive(it, 0, 1, epoch=3, now=7.0).accepted == (0, 1)


def test_one_that_waits_for_others_in_vain_is_told_so() -> None:
    it = hub(min_workers=2)
    it.lost(2, 0.5)
    it.lost(1, 0.6)
    it.handle(arrived(0, 0, epoch=2), 1.0)
    assert it.standstill(10.9, 10.0) is None
    assert it.silence(11.0, 10.0) == {}
    why = it.standstill(11.0, 10.0)
    assert why is not None
    assert why.startswith("Nothing was heard for 10 s. The run waits until 2 workers are there (min_workers)")


def test_a_version_that_is_lost_with_whoever_had_it_is_made_anew_when_enough_are_back() -> None:
    it = hub(min_workers=2)
    all_arrive(it, 0, 1, 2)
    it.handle(applied(2, 1), 1.1)
    it.lost(2, 1.2)
    it.handle(state(1, 0), 1.3)
    it.handle(state(0, 0), 1.3)
    assert it.epoch == 2
    assert it.lost(1, 1.4) == []
    [(_, joined), _] = it.handle(comes_back(2), 1.5)
    assert isinstance(joined, New)
    assert (joined.members, joined.base, joined.holder, joined.joiners) == ((0, 2), 0, 0, (2,))


def test_where_too_many_have_left_in_order_nobody_is_waited_for() -> None:
    it = hub(min_workers=2)
    it.handle(bye(2), 0.4)
    assert it.lost(1, 0.6) == []
    assert it.too_few is not None
    it = hub(min_workers=3)
    assert it.lost(1, 0.4) == []
    assert it.handle(bye(2, epoch=1), 0.5)[0] == (0, Over(1, 1, 0))


def test_who_has_left_in_order_is_not_lost() -> None:
    it = hub()
    it.handle(bye(2), 0.4)
    assert it.lost(2, 0.5) == []
    assert it.epoch == 1


# Coming back.


def comes_back(worker: int, **more: Any) -> Hello:
    return hello(worker, process=9, address="tcp://there:9", **more)


def test_one_that_was_killed_comes_back_and_copies_a_state() -> None:
    it = hub()
    it.lost(2, 0.5)
    all_arrive(it, 0, 1, epoch=2)
    it.handle(applied(0, 1, epoch=2), 1.1)
    assert it.handle(comes_back(2), 1.2) == [], "worker 1 may still be in the reduction"
    answers = it.handle(applied(1, 1, epoch=2), 1.3)
    addresses = ("tcp://here:0", "tcp://here:1", "tcp://there:9")
    joined = New(1, 3, (0, 1, 2), addresses, 1, 0, (2,))
    assert answers == [(0, joined), (1, joined), (2, joined)]
    assert all_arrive(it, 0, 1, 2, version=1, epoch=3, now=2.0).accepted == (0, 1, 2)


def test_a_joiner_whose_donor_dies_copies_from_another() -> None:
    it = hub()
    it.lost(2, 0.5)
    it.handle(comes_back(2), 0.6)
    _, (_, joined) = it.lost(0, 0.7)
    assert isinstance(joined, New)
    assert (joined.members, joined.holder, joined.joiners) == ((1, 2), 1, (2,))


def test_who_comes_back_with_something_else_is_refused() -> None:
    it = hub()
    it.lost(2, 0.5)
    ((_, refused),) = it.handle(comes_back(2, alike=msgspec.structs.replace(ALIKE, torch="1.0")), 0.6)
    assert isinstance(refused, Refused)
    assert "cannot come back: it does not agree with the others on the torch version: '1.0'" in refused.why
    ((_, fine),) = it.handle(comes_back(2, alike=msgspec.structs.replace(ALIKE, numbers="other")), 0.7)[-1:]
    assert isinstance(fine, New), "its numbers will be those of the others"
    ((_, taken),) = it.handle(comes_back(1), 0.8)
    assert isinstance(taken, Refused)


def test_who_comes_back_when_the_run_is_over_is_told_so() -> None:
    it = hub(total=1)
    it.lost(2, 0.5)
    all_arrive(it, 0, 1, epoch=2)
    it.handle(applied(0, 1, epoch=2), 1.1)
    ((_, refused),) = it.handle(comes_back(2), 1.2)
    assert isinstance(refused, Refused)
    assert "comes too late" in refused.why


def test_a_joiner_alone_has_nothing_to_go_on_with() -> None:
    it = hub()
    it.lost(2, 0.5)
    it.handle(comes_back(2), 0.6)
    it.lost(0, 0.7)
    assert it.lost(1, 0.8) == [(2, Again(1, 5))], "it may have copied the state by now"
    assert it.handle(comes_back(2), 0.9) == [], "another may have been cut off only, and be back in a moment"
    assert it.wake_at == 0.9 + PATIENCE
    ((who, refused),) = it.tick(0.9 + PATIENCE)
    assert isinstance(refused, Refused)
    assert (who, it.why) == (2, NO_STATE)


def test_who_was_only_cut_off_is_not_refused_by_a_controller_that_lost_everybody() -> None:
    it = hub(workers=2)
    for worker in range(2):
        it.lost(worker, 1.0)
    assert it.deserted
    assert it.handle(hello(0, 2, term=1, epoch=1), 1.1) == [], (
        "it says Hello to the controller after this one"
    )


def test_all_are_asked_again_before_a_run_is_given_up() -> None:
    it = hub(workers=2)
    all_arrive(it, 0, 1)
    it.lost(0, 1.0)
    assert it.handle(hello(0, 2, term=1, epoch=1), 1.1) == [], "the other may have completed the round"
    assert it.lost(1, 1.2) == [(0, Again(1, 2))], "nobody is left whose state is known"
    answers = it.handle(hello(0, 2, term=1, epoch=1), 1.3)
    assert answers[0] == (0, new(3, 0, 0, 0)), "it had what the last epoch began with"
    assert it.why is None


def test_a_change_that_nobody_answers_is_given_up_after_max_wait() -> None:
    it = hub(workers=2)
    all_arrive(it, 0, 1)
    it.lost(1, 1.0)
    it.tick(1.0 + PATIENCE)
    assert it.standstill(20.0, 20.0) is None
    why = it.standstill(21.0, 20.0)
    assert why is not None
    assert "Nothing was heard for 20" in why


def test_who_has_lost_all_one_after_the_other_while_they_say_hello_goes_on_with_them() -> None:
    """All connections break at once, and the hub reads the first Hello before it notices the last break."""
    it = hub()
    back = {worker: hello(worker, term=1, epoch=1) for worker in range(3)}
    it.lost(0, 1.0)
    it.handle(back[0], 1.0)
    it.lost(1, 1.0)
    it.handle(back[1], 1.0)
    asked = it.lost(2, 1.0)
    assert asked == [(0, Again(1, 6)), (1, Again(1, 6))]
    assert it.handle(back[0], 1.1) == []
    answers = it.handle(back[1], 1.1)
    assert answers[0] == (0, new(7, 0, 0, 0, 1)), "no round was closed since they were in the run"
    assert it.why is None


@pytest.mark.parametrize("version", [-1, 10**9])
def test_nobody_who_is_asked_is_believed_to_be_where_nobody_can_be(version: int) -> None:
    it = hub(workers=2)
    it.lost(0, 1.0)
    it.handle(hello(0, 2, term=1, epoch=1), 1.0)
    it.lost(1, 1.0)
    assert it.handle(hello(0, 2, term=1, epoch=1, version=version), 1.1) == []
    it.tick(1.1 + PATIENCE)
    assert it.why == NO_STATE


# Returning to a checkpoint.


@pytest.mark.parametrize("min_workers", [1, 3])
def test_a_joiner_alone_waits_for_a_controller_that_returns_to_a_checkpoint(min_workers: int) -> None:
    it = hub(resumes=True, min_workers=min_workers)
    it.lost(2, 0.5)
    it.handle(comes_back(2, version=40), 0.6)
    it.lost(0, 0.7)
    assert it.lost(1, 0.8) == []
    assert (it.over, it.deserted, it.why) == (True, True, None)
    assert it.handle(comes_back(2, version=40), 0.9) == [], "nothing more is said before this controller ends"


def test_a_last_version_that_is_lost_with_all_who_had_it_is_not_the_end() -> None:
    it = hub(total=1, resumes=True)
    all_arrive(it, 0, 1, 2)
    for worker in range(3):
        it.handle(applied(worker, 1), 1.1)
    for worker in range(3):
        it.lost(worker, 1.2)
    assert (it.over, it.deserted) == (True, True)


def test_a_last_version_with_which_a_worker_has_left_in_order_is_the_end() -> None:
    it = hub(total=1, resumes=True)
    all_arrive(it, 0, 1, 2)
    for worker in range(3):
        it.handle(applied(worker, 1), 1.1)
    it.handle(bye(0, 1), 1.2)
    for worker in range(3):
        it.lost(worker, 1.3)
    assert (it.over, it.deserted) == (True, False)
