"""The hub, message by message: rounds, learning rates, and what is stale or strange."""

from __future__ import annotations

import pytest
from hub_scripts import applied, arrived, begun, bye, close, go, hub

from tailcut.engines.live.controller.hub import Hub
from tailcut.engines.live.controller.orders import SENDER
from tailcut.engines.live.controller.places import Doing
from tailcut.engines.live.messages import Close, Limit, Refused, State
from tailcut.errors import ParameterError
from tailcut.events import Settle
from tailcut.forecast import NoForecast
from tailcut.learning.rates import Gradual, Linear
from tailcut.policy import Policy
from tailcut.round import Rounds
from tailcut.rules import Backup, Deadline, Fair, MicroDeadline
from tailcut.testing.rules import Watched
from tailcut.types import Fate, RoundRecord

# Rounds.


def test_a_close_goes_to_all_the_accepted_first_in_the_order_of_the_ring() -> None:
    it = hub(Backup(c=2))
    assert it.handle(arrived(2), 1.0) == []
    told = close(0, 1, 2)
    assert it.handle(arrived(1), 2.0) == [(1, told), (2, told), (0, told)]


def test_who_made_the_update_goes_on_by_itself_and_the_late_one_is_sent_for() -> None:
    it = hub(Backup(c=2))
    it.handle(arrived(2), 1.0)
    it.handle(arrived(1), 2.0)
    assert it.handle(applied(2, 1), 3.0) == [], "the first report opens the round; nobody has to be told"
    assert it.handle(applied(1, 1), 3.1) == []
    assert it.version == 1
    assert it.handle(arrived(0, 0), 4.0) == [(0, go(1, late=2.0))]


def test_who_comes_between_a_close_and_the_next_opening_is_sent_for_at_the_opening() -> None:
    it = hub(Backup(c=2))
    it.handle(arrived(2), 1.0)
    it.handle(arrived(1), 2.0)
    assert it.handle(arrived(0, 0), 2.5) == []
    assert it.handle(applied(1, 1), 3.0) == [(0, go(1, late=0.5))]


def test_who_is_told_to_drop_its_work_is_sent_for_at_the_opening() -> None:
    it = hub(Backup(c=2), late_finish=False)
    it.handle(arrived(2), 1.0)
    assert it.handle(arrived(1), 2.0)[0] == (1, close(0, 1, 2, abandon=(0,)))
    assert it.places[0].doing is Doing.DROPS
    assert it.handle(applied(1, 1), 3.0) == [(0, go(1))]
    # Its arrival was under way when it was told to stop: it has its answer.
    assert it.handle(arrived(0, 0), 3.1) == []
    it.handle(arrived(0, 1), 4.0)
    assert it.handle(arrived(1, 1), 5.0)[0] == (0, close(1, 0, 1, abandon=(2,)))


def test_a_gradient_that_is_not_finite_is_not_used_and_its_worker_goes_on() -> None:
    records: list[RoundRecord] = []
    it = hub(records=records.append)
    it.handle(arrived(0, finite=False), 1.0)
    it.handle(arrived(1), 1.0)
    assert it.handle(arrived(2), 1.0)[0] == (1, close(0, 1, 2))
    assert it.handle(applied(1, 1), 2.0) == [(0, go(1))]
    it.think()
    assert records[0].fates.tolist() == [Fate.REJECTED, Fate.USED, Fate.USED]


def test_if_no_gradient_is_finite_everybody_computes_again_at_the_same_version() -> None:
    settled: list[Settle] = []
    it = hub(settled=settled.append)
    it.handle(arrived(0, finite=False), 1.0)
    it.handle(arrived(1, finite=False), 1.0)
    assert it.handle(arrived(2, finite=False), 1.0) == [(0, go(0)), (1, go(0)), (2, go(0))]
    for worker in (0, 1):
        it.handle(arrived(worker), 2.0)
    assert it.handle(arrived(2), 2.0)[0] == (0, close(0, 0, 1, 2))
    it.think()
    assert [settle.fate for settle in settled] == [Fate.REJECTED] * 3


def test_a_wake_up_closes_the_round_and_comes_once() -> None:
    it = hub(Deadline(seconds=1.5))
    assert it.wake_at == 1.5
    it.handle(arrived(1), 1.0)
    assert it.tick(1.25) == []
    assert it.tick(1.5)[0] == (1, close(0, 1))
    assert it.wake_at is None
    assert it.tick(9.0) == []


def test_a_wake_up_at_which_nobody_is_in_is_not_asked_for_again() -> None:
    it = hub(Deadline(seconds=1.5))
    assert it.tick(1.5) == []
    assert it.wake_at is None, "the first arrival closes the round"
    assert it.handle(arrived(1), 2.0)[0] == (1, close(0, 1))


def test_who_says_again_what_was_answered_does_not_wait() -> None:
    it = hub(Backup(c=2))
    it.handle(arrived(2), 1.0)
    assert it.places.waiting == [2]
    it.handle(arrived(1), 2.0)
    assert it.handle(arrived(2), 2.0) == []
    assert it.places.waiting == []


def test_a_clock_that_stands_or_runs_backwards_does_no_harm() -> None:
    it = hub(Backup(c=2))
    it.handle(arrived(2), 5.0)
    assert it.handle(arrived(1), 4.0)[0] == (1, close(0, 1, 2))


def test_a_limit_reaches_those_who_are_there_by_themselves_and_those_who_are_sent_for() -> None:
    it = Hub(Rounds(Policy(NoForecast(), MicroDeadline(micro=4, threshold=2.0)), late_finish=True), 2)
    answers = begun(it, 2)
    limit = Limit(1, 1, 0, 2.0)
    assert answers[2:] == [(0, limit), (1, limit)]
    it.handle(arrived(0, samples=4, share=0.5), 2.0)
    it.handle(arrived(1, finite=False), 2.0)
    assert it.handle(applied(0, 1), 3.0) == [(1, go(1, 2.0)), (0, Limit(1, 1, 1, 2.0))]


def test_records_are_told_when_the_update_is_made_and_it_thinks() -> None:
    records: list[RoundRecord] = []
    it = hub(Backup(c=1), records=records.append)
    it.handle(arrived(0), 1.0)
    it.think()
    assert records == []
    it.handle(applied(0, 1), 1.5)
    assert records == []
    it.think()
    assert [record.version for record in records] == [0]
    it.think()
    assert len(records) == 1


# The learning rate.


def test_the_learning_rate_follows_the_accepted_samples_of_all_there_would_be() -> None:
    it = hub(Backup(c=2), rate=Linear())
    it.handle(arrived(0, samples=8), 1.0)
    # Worker 2 is unknown and counts as the mean of the others: (8 + 16) / 2.
    assert it.handle(arrived(1, samples=16), 1.0)[0] == (0, close(0, 0, 1, scale=24 / 36))
    it.handle(applied(0, 1), 2.0)
    it.handle(arrived(2, 0, samples=24), 2.5)
    it.handle(arrived(0, 1, samples=8), 3.0)
    assert it.handle(arrived(2, 1, samples=6, share=0.25), 3.0)[0] == (0, close(1, 0, 2, scale=14 / 48))


def test_workers_that_left_are_still_part_of_a_full_update() -> None:
    it = hub(rate=Linear())
    for worker in (0, 1):
        it.handle(arrived(worker, samples=10), 1.0)
    assert it.handle(bye(2), 1.0)[0] == (0, close(0, 0, 1, scale=2 / 3))


def test_a_rate_can_grow_over_the_first_updates() -> None:
    it = hub(workers=1, rate=Gradual(Linear(), 4))
    assert it.handle(arrived(0), 1.0) == [(0, close(0, 0, scale=0.25))]
    it.handle(applied(0, 1), 1.0)
    assert it.handle(arrived(0, 1), 2.0) == [(0, close(1, 0, scale=0.5, needed=1))]


def test_an_update_of_no_samples_does_not_divide_by_zero() -> None:
    it = hub(workers=1, rate=Linear())
    assert it.handle(arrived(0, samples=0, share=0.0), 1.0) == [(0, close(0, 0, scale=0.0))]


@pytest.mark.parametrize("wrong", [{"share": 1.5}, {"share": float("nan")}, {"share": -0.1}, {"samples": -1}])
def test_an_impossible_arrival_is_refused(wrong: dict[str, float]) -> None:
    it = hub()
    [(who, message)] = it.handle(arrived(1, **wrong), 1.0)
    assert who == SENDER
    assert isinstance(message, Refused)
    assert message.why.startswith("Worker 1 arrived with samples=")


def test_a_run_time_is_what_the_controller_waited_for_it() -> None:
    """Catching up and the messages' way are part of it: a worker's own seconds would leave them out."""
    records: list[RoundRecord] = []
    it = hub(records=records.append)
    for worker, (own, moment) in enumerate([(1.0, 1.25), (1.5, 1.5), (0.5, 2.0)]):
        it.handle(arrived(worker, 0, own), moment)
    it.handle(applied(0, 1), 2.5)
    it.think()
    assert records[0].run_times.seconds.tolist() == [1.25, 1.5, 2.0]


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_a_run_time_that_is_none_teaches_nothing_but_the_gradient_counts(seconds: float) -> None:
    records: list[RoundRecord] = []
    it = hub(Backup(c=1), records=records.append)
    assert it.handle(arrived(1, seconds=seconds), 1.0)[0] == (1, close(0, 1))
    it.handle(applied(1, 1), 1.5)
    it.think()
    assert 1 not in records[0].run_times.workers


# What is stale or strange.


@pytest.mark.parametrize("other", [{"term": 0}, {"term": 2}, {"epoch": 0}, {"epoch": 2}])
def test_messages_of_another_term_or_epoch_change_nothing(other: dict[str, int]) -> None:
    it = hub(Backup(c=1))
    assert it.handle(arrived(1, **other), 1.0) == []
    assert (
        it.handle(State(**{"term": 1, "epoch": 1, "worker": 1, "version": 0, "chain": b"", **other}), 1.0)
        == []
    )
    assert it.ignored == 2
    assert it.places[1].doing is Doing.COMPUTES


def test_a_report_that_was_not_awaited_opens_nothing() -> None:
    it = hub(Backup(c=2))
    assert it.handle(applied(0, 1), 0.5) == []
    it.handle(arrived(2), 1.0)
    it.handle(arrived(1), 2.0)
    assert it.handle(applied(0, 1), 2.5) == [], "worker 0 was not accepted"
    ((_, refused),) = it.handle(applied(1, 2), 2.5)
    assert isinstance(refused, Refused), "nobody can be there"
    assert it.version == 0


def test_a_worker_that_never_said_hello_is_refused() -> None:
    [(who, message)] = hub().handle(arrived(3), 1.0)
    assert (who, message) == (SENDER, Refused(1, 1, "Worker 3 has not said Hello to this run."))


def test_workers_that_came_to_a_version_by_different_updates_end_the_run() -> None:
    it = hub()
    for worker in range(3):
        it.handle(arrived(worker), 1.0)
    it.handle(applied(0, 1), 2.0)
    answers = it.handle(applied(2, 1, chain=b"other"), 2.0)
    assert [worker for worker, _ in answers] == [0, 1, 2]
    assert it.why is not None
    assert it.why.startswith("Workers 0 and 2 came to version 1 by different updates")
    assert it.over
    assert it.handle(applied(1, 1, chain=b"third"), 2.0) == [], "said once"


def test_a_policy_that_takes_older_gradients_is_refused_before_anybody_waits() -> None:
    with pytest.raises(ParameterError, match="how=stale"):
        hub(Fair(Fair(Backup(c=1), most_rounds=1, how="stale"), most_rounds=9), workers=2)


def test_a_policy_that_hides_what_it_takes_is_found_out_when_it_does() -> None:
    policy = Watched(Policy(NoForecast(), Fair(Backup(c=1), most_rounds=1, how="stale")))
    it = Hub(Rounds(policy, late_finish=True), 2)
    begun(it, 2)
    it.handle(arrived(0), 1.0)
    for version in (1, 2):
        it.handle(applied(0, version), version)
        it.handle(arrived(0, version), version + 0.5)
        if it.why is None:
            it.handle(arrived(1, 0), version + 0.5)
    assert it.why is not None
    assert "live training takes none that are older" in it.why
    assert it.over


def test_who_has_left_is_not_kept_for_ever_by_one_that_vanished() -> None:
    it = hub(Backup(c=1), workers=2)
    it.handle(arrived(0), 1.0)
    it.handle(applied(0, 1), 1.1)
    it.handle(bye(0, 1), 2.0)
    assert it.standstill(10.0, 20.0) is None
    assert it.standstill(30.0, 20.0) is not None


def test_a_busy_controller_does_not_take_a_run_time_for_shorter_than_the_worker_says() -> None:
    records: list[RoundRecord] = []
    it = hub(workers=1, records=records.append)
    it.handle(arrived(0, 0, 0.06), 0.012)
    it.handle(applied(0, 1), 0.08)
    it.think()
    assert records[0].run_times.seconds.tolist() == [0.06]


def test_a_close_says_which_updates_somebody_may_still_ask_for() -> None:
    it = hub(Backup(b=1))
    needed = []
    for version, who in enumerate([(0, 1), (0, 1), (0, 1)]):
        for worker in who:
            told = it.handle(arrived(worker, version), version + 0.5)
        needed.append({message.needed for _, message in told if isinstance(message, Close)})
        for worker in who:
            it.handle(applied(worker, version + 1), version + 0.6)
        if version == 1:
            # Worker 2 comes to step() with its gradient of version 0, and goes on at version 2.
            it.handle(arrived(2, 0), 1.7)
    assert needed == [{0}, {0}, {0}], "worker 2 still has to pull what it missed"
    it.handle(bye(2), 2.8)
    told = it.handle(arrived(0, 3), 3.5) + it.handle(arrived(1, 3), 3.6)
    assert {message.needed for _, message in told if isinstance(message, Close)} == {3}
