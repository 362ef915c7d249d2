"""The end of a run: workers leave, all updates are made, or no message comes any more."""

from __future__ import annotations

from hub_scripts import FREE, applied, arrived, bye, close, go, hello, hub

from tailcut.engines.live.controller.hub import Hub
from tailcut.engines.live.controller.orders import SENDER
from tailcut.engines.live.messages import Free, New, Over, Refused, State, Stop
from tailcut.events import Settle
from tailcut.forecast import NoForecast
from tailcut.policy import Policy
from tailcut.round import Rounds
from tailcut.rules import Backup, Deadline, WaitAll
from tailcut.types import Fate, RoundRecord

# Leaving.


def test_a_worker_that_leaves_is_no_longer_waited_for() -> None:
    it = hub()
    it.handle(arrived(0), 1.0)
    it.handle(arrived(1), 1.0)
    assert it.handle(bye(2), 2.0) == [(0, close(0, 0, 1)), (1, close(0, 0, 1)), (2, FREE)]
    assert it.handle(arrived(2), 2.5) == []
    assert it.ignored == 1


def test_who_leaves_after_its_arrival_is_not_in_the_ring() -> None:
    it = hub()
    it.handle(arrived(0), 1.0)
    it.handle(bye(0), 1.5)
    it.handle(arrived(1), 2.0)
    assert it.handle(arrived(2), 2.0) == [(1, close(0, 1, 2)), (2, close(0, 1, 2))]


def test_an_update_that_nobody_is_left_to_make_ends_the_run() -> None:
    it = hub(Backup(c=1))
    it.handle(arrived(0), 1.0)
    answers = it.handle(bye(0), 1.5)
    assert it.why is not None
    assert it.why.startswith("Version 1 was never made")
    assert answers == [(1, Refused(1, 1, it.why)), (2, Refused(1, 1, it.why)), (0, FREE)]


def test_a_round_whose_only_gradients_have_left_ends_the_run() -> None:
    records: list[RoundRecord] = []
    it = hub(Deadline(seconds=5.0), records=records.append)
    it.handle(arrived(0), 1.0)
    it.handle(bye(0), 1.5)
    assert [worker for worker, _ in it.tick(5.0)] == [1, 2]
    assert it.why is not None
    assert it.why.startswith("Version 1 was never made")
    it.think()
    assert records == [], "it was not carried out"


def test_who_has_left_is_needed_until_all_others_have_what_it_holds() -> None:
    it = hub(Backup(c=2))
    it.handle(arrived(0), 1.0)
    it.handle(arrived(1), 1.0)
    it.handle(applied(0, 1), 2.0)
    assert it.handle(bye(0, 1), 3.0) == [], "worker 1 may not have made its update yet, and 2 lacks it"
    assert it.handle(applied(1, 1), 3.0) == [], "worker 2 lacks it"
    assert it.handle(arrived(2, 0), 4.0) == [(2, go(1, late=3.0))], "it is about to pull it"
    assert it.handle(arrived(2, 1), 5.0) == [(0, FREE)]


def test_when_the_last_has_left_nobody_needs_anybody() -> None:
    it = hub(Backup(c=1), workers=2)
    it.handle(arrived(1), 1.0)
    it.handle(applied(1, 1), 2.0)
    assert it.handle(bye(1, 1), 3.0) == []
    assert not it.over
    assert it.handle(bye(0), 3.0) == [(0, FREE), (1, FREE)]
    assert it.over
    assert it.why is None


def test_a_run_ends_with_its_last_update_and_no_round_opens() -> None:
    records: list[RoundRecord] = []
    settled: list[Settle] = []
    it = hub(Backup(c=2), total=1, records=records.append, settled=settled.append)
    it.handle(arrived(2), 1.0)
    it.handle(arrived(1), 2.0)
    over = Over(1, 1, 1)
    assert it.handle(applied(1, 1), 3.0) == [(0, over), (1, over), (2, over)]
    assert it.handle(applied(2, 1), 3.0) == []
    assert it.handle(arrived(0, 0), 3.5) == [], "it has its answer"
    assert it.wake_at is None
    for worker in (2, 1, 0):
        assert not it.over
        answers = it.handle(bye(worker, 1), 4.0)
    assert answers == [(0, FREE), (1, FREE), (2, FREE)]
    it.think()
    assert len(records) == 1
    assert [(settle.worker, settle.fate) for settle in settled] == [(0, Fate.LATE)]


def test_a_run_ends_when_too_few_are_left() -> None:
    it = hub(min_workers=2)
    assert it.handle(bye(0), 1.0) == [(0, FREE)]
    assert it.handle(bye(1), 1.0) == [(2, Over(1, 1, 0)), (1, FREE)]
    assert it.handle(arrived(2), 2.0) == [], "no round closes any more"
    assert it.handle(bye(2), 2.0) == [(2, FREE)]
    assert it.over


# Silence.


def test_before_the_run_those_who_have_not_said_hello_are_named() -> None:
    it = Hub(Rounds(Policy(NoForecast(), WaitAll())), 3)
    assert it.tick(100.0) == []
    assert it.silence(109.0, 10.0) == {}
    assert it.standstill(109.0, 10.0) is None
    assert list(it.silence(110.0, 10.0)) == [0, 1, 2]
    assert it.silence(110.0, 10.0)[1] == (
        "No Hello for 10 s: worker 1. Is it started, with this controller's address?"
    )
    why = it.standstill(110.0, 10.0)
    assert why is not None
    assert why.startswith("Nothing was heard for 10 s. No Hello for 10 s: worker 0.")
    assert why.endswith("Raise max_wait, now 10 s, if it can take longer.")


def test_a_worker_that_never_calls_step_is_named_with_what_it_does() -> None:
    it = hub()
    it.handle(arrived(0), 1.0)
    it.handle(arrived(1), 2.0)
    assert it.silence(20.0, 20.0) == {
        2: "Not heard of for 20 s: worker 2 (process 102 on here), computing at version 0; "
        "it has not called step() yet."
    }
    assert it.standstill(21.9, 20.0) is None, "something was heard 19.9 s ago"
    why = it.standstill(22.0, 20.0)
    assert why is not None
    assert why.startswith(
        "Nothing was heard for 20 s while workers 0 and 1 waited in step(). Not heard of for 22 s:"
    )


def test_if_nobody_waits_a_long_step_is_no_standstill() -> None:
    it = hub()
    assert list(it.silence(1000.0, 20.0)) == [0, 1, 2]
    assert it.standstill(1000.0, 20.0) is None


def test_who_hangs_in_a_reduction_is_named() -> None:
    it = hub()
    for worker in range(3):
        it.handle(arrived(worker), 1.0)
    it.handle(applied(0, 1), 1.0)
    it.handle(arrived(0, 1), 2.0)
    assert it.silence(30.0, 20.0)[2] == (
        "Not heard of for 29 s: worker 2 (process 102 on here), reducing gradients with others, to version 1."
    )


def test_of_many_silent_workers_a_few_are_described() -> None:
    it = hub(workers=9)
    for worker in range(1):
        it.handle(arrived(worker), 1.0)
    why = it.standstill(100.0, 20.0)
    assert why is not None
    assert why.count("Not heard of") == 3
    assert "So it is with 5 more." in why


def test_after_the_end_those_who_do_not_leave_are_a_standstill() -> None:
    it = hub(workers=2, total=1)
    for worker in range(2):
        it.handle(arrived(worker), 1.0)
    it.handle(applied(0, 1), 2.0)
    assert it.standstill(3.0, 20.0) is None
    assert it.standstill(30.0, 20.0) is not None


def test_nobody_takes_the_place_of_one_who_left() -> None:
    it = hub()
    it.handle(bye(1), 1.0)
    [(who, message)] = it.handle(hello(1, process=7), 2.0)
    assert who == SENDER
    assert message == Refused(
        1, 1, "Worker 1 cannot join: the run is under way. Start all workers together.", late=True
    )
    assert it.handle(hello(1), 2.0) == [(1, Free(1, 1))], "nor does it come back itself: it may go"


def test_a_last_version_that_is_gone_with_who_had_it_is_made_again() -> None:
    it = hub(Backup(c=1), total=1)
    it.handle(arrived(0), 1.0)
    it.handle(applied(0, 1), 1.1)
    it.handle(bye(0, 1), 1.2)
    assert {(worker, type(message)) for worker, message in it.lost(0, 1.3)} == {(1, Stop), (2, Stop)}
    it.handle(State(1, 1, 1, 0, b""), 1.4)
    answers = it.handle(State(1, 1, 2, 0, b""), 1.5)
    assert {(message.epoch, message.base) for _, message in answers if isinstance(message, New)} == {(2, 0)}
    assert it.version == 0


def test_a_last_version_that_another_has_fetched_is_not_made_again() -> None:
    it = hub(Backup(c=1), total=1)
    it.handle(arrived(0), 1.0)
    it.handle(applied(0, 1), 1.1)
    it.lost(0, 1.3)
    it.handle(State(1, 1, 1, 0, b""), 1.4)
    answers = it.handle(State(1, 1, 2, 1, b"chain1"), 1.5)
    assert {(m.epoch, m.base, m.holder) for _, m in answers if isinstance(m, New)} == {(2, 1, 2)}
    assert it.version == 1


def test_what_was_said_at_the_end_and_lost_with_a_line_is_said_again() -> None:
    it = hub(workers=2, total=1)
    for worker in range(2):
        it.handle(arrived(worker), 1.0)
    it.handle(applied(0, 1), 1.1)
    it.handle(applied(1, 1), 1.1)
    again = {"workers": 2, "term": 1, "epoch": 1, "version": 1}
    assert it.handle(hello(0, **again), 1.2) == [(0, Over(1, 1, 1))]
    assert it.handle(bye(0, 1), 1.3) == [(0, Free(1, 1))]
    assert it.handle(hello(0, **again), 1.4) == [(0, Free(1, 1))]


def test_who_has_left_and_is_not_needed_may_end() -> None:
    it = hub(Backup(c=1))
    it.handle(bye(0), 1.0)
    assert it.lost(0, 1.1) == []
    assert it.epoch == 1
