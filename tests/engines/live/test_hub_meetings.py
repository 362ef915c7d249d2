"""Versions at which all workers meet; and gradients that are looked at, or are never finite."""

from __future__ import annotations

from typing import Any, final

import numpy as np
import pytest
from hub_scripts import Fleet, applied, arrived, go, hub

from tailcut.engines.live.controller.hub import Hub
from tailcut.engines.live.controller.orders import SENDER
from tailcut.engines.live.messages import Close, Meet, Refused, Scatter
from tailcut.engines.tries import MOST_TRIES
from tailcut.forecast import Forecaster, NoForecast, Trend
from tailcut.learning.rates import MOST_NOISE, RATES
from tailcut.noise import Noise, after
from tailcut.policy import Policy
from tailcut.round import Rounds
from tailcut.rules import Backup, Deadline, Explore, Stopping, WarmUp
from tailcut.testing.histories import table
from tailcut.types import Measured, Roster, RoundRecord, RunTimes

WORKERS, ROUNDS, EVERY = 6, 60, 7


def played(policy: Policy, late_finish: bool) -> list[RoundRecord]:
    records: list[RoundRecord] = []
    it = Hub(Rounds(policy, late_finish=late_finish), WORKERS, records=records.append)
    fleet = Fleet(it, table(ROUNDS, WORKERS, seed=1), overhead=0.1, every=EVERY)
    fleet.run(ROUNDS - 1)
    return records


@pytest.mark.parametrize("late_finish", [True, False])
@pytest.mark.parametrize(
    "policy",
    [
        Policy(NoForecast(), Backup(c=2)),
        Policy(NoForecast(), Deadline(seconds=1.0)),
        Policy(Trend(), Explore(WarmUp(Stopping()))),
    ],
    ids=["backup", "deadline", "stopping"],
)
def test_where_workers_meet_the_round_waits_for_all(policy: Policy, late_finish: bool) -> None:
    records = played(policy, late_finish)
    assert [record.version for record in records] == list(range(ROUNDS - 1))
    assert all(record.count == WORKERS for record in records if record.version % EVERY == 0)
    assert np.mean([record.count for record in records if record.version % EVERY]) < WORKERS - 0.5


def test_a_wish_that_comes_while_the_round_is_open_counts() -> None:
    it = hub(Backup(c=1))
    it.handle(Meet(1, 1, 0, 5), 0.5)
    assert it.handle(arrived(0), 1.0) == []
    assert it.handle(arrived(1), 1.5) == []
    assert [message for _, message in it.handle(arrived(2), 2.0)] == [Close(1, 1, 0, (0, 1, 2), 1.0, ())] * 3


def test_who_would_sit_out_is_sent_for_where_workers_meet() -> None:
    @final
    class Sits(Backup):
        def worth_starting(self, plan: Any, position: int, elapsed: float) -> bool:
            return False

    it = hub(Sits(c=2))
    it.handle(Meet(1, 1, 0, 2), 0.5)
    for version in (0, 1):
        answers = [it.handle(arrived(worker, version), 1.0 + version) for worker in range(3 - version)]
        assert answers[-1], "the round is closed, at version 1 with two of three"
        it.handle(applied(0, version + 1), 1.5 + version)
        it.handle(applied(1, version + 1), 1.5 + version)
    assert it.handle(arrived(2, 1), 3.0) == [(2, go(2, late=1.0))]
    for worker in (0, 1):
        assert it.handle(arrived(worker, 2), 4.0) == []
    assert it.handle(arrived(2, 2), 9.0), "all have met"


def test_nothing_is_learnt_where_workers_meet_and_late_reports_later() -> None:
    learnt: list[tuple[float, bool]] = []

    @final
    class Listens(Forecaster[None]):
        def start(self) -> None:
            """Return no belief."""

        def learn(self, belief: None, seen: RunTimes) -> None:
            learnt.extend((round(seconds, 6), seen.late) for seconds in seen.seconds.tolist())

        def forecast(self, belief: None, roster: Roster) -> None:
            """Return no forecast."""

    it = Hub(Rounds(Policy(Listens(), Backup(c=1)), late_finish=True), 2)
    Fleet(it, table(1, 2, seed=0)).run(0)
    it.handle(Meet(1, 1, 0, 2), 0.0)

    def make(worker: int, version: int, seconds: float) -> None:
        it.handle(arrived(worker, version, seconds), version + 0.5)
        it.handle(applied(worker, version + 1), version + 0.6)

    it.handle(arrived(1, 0, 100.0), 0.1)
    make(0, 0, 100.5)
    it.handle(applied(1, 1), 0.6)
    make(0, 1, 1.5)
    it.handle(arrived(1, 1, 1.9), 1.9)
    it.think()
    assert learnt == [(1.5, False)]
    it.handle(arrived(1, 2, 102.0), 2.1)
    make(0, 2, 102.5)
    it.think()
    assert learnt == [(1.5, False)], "what came during the meeting waits"
    it.handle(applied(1, 3), 2.7)
    make(0, 3, 3.5)
    it.think()
    assert learnt == [(1.5, False), (1.9, True), (3.5, False)]


@pytest.mark.parametrize("every", [0, -3])
def test_workers_cannot_meet_every_none(every: int) -> None:
    [(told, refused)] = hub().handle(Meet(1, 1, 0, every), 1.0)
    assert told == SENDER
    assert isinstance(refused, Refused)
    assert f"not {every}" in refused.why


def test_a_net_whose_gradients_are_never_finite_ends_the_run() -> None:
    it = hub(workers=2)
    for number in range(MOST_TRIES):
        assert it.why is None
        for worker in range(2):
            answers = it.handle(arrived(worker, 0, finite=False), float(number))
    assert it.why is not None
    assert it.why.startswith("No gradient of version 0 was finite in 100 attempts: the net has diverged.")
    assert answers == [(0, Refused(1, 1, it.why)), (1, Refused(1, 1, it.why))]


def test_what_gradients_showed_reaches_the_learning_rate() -> None:
    it = hub(workers=2, rate=RATES["gain"])
    scales = []
    for version in range(3):
        it.handle(arrived(0, version), version + 0.5)
        [(_, told), _] = it.handle(arrived(1, version), version + 0.5)
        assert isinstance(told, Close)
        scales.append(told.scale)
        scatter = Scatter(samples=16, big=1.5, small=2.5, small_samples=8.0)
        for worker in range(2):
            it.handle(applied(worker, version + 1, scatter=scatter), version + 0.6)
        it.think()
    assert after(Noise(), Measured(0.0, 16, 8, 1.5, 2.5, 8.0, 1.0)).scale == 32.0
    assert scales == [pytest.approx(1 / 2), pytest.approx(1 / 3), pytest.approx(1 / 3)]
    assert MOST_NOISE * 16 > 32


def test_nets_that_differ_after_the_same_updates_end_the_run() -> None:
    it = hub(workers=2)
    it.handle(arrived(0), 1.0)
    it.handle(arrived(1), 1.0)
    it.handle(applied(0, 1, numbers=b"one"), 2.0)
    it.handle(applied(1, 1, numbers=b"other"), 2.0)
    assert it.why is not None
    assert it.why.startswith("The nets of workers 0 and 1 are no longer the same at version 1")


# Loops over epochs.


def loop(worker: int, updates: int = 40, epochs: int = 5) -> Meet:
    return Meet(1, 1, worker, updates, epochs)


def test_workers_whose_epochs_differ_end_the_run_before_it_has_begun() -> None:
    it = hub(workers=2)
    assert it.handle(loop(0), 1.0) == []
    answers = it.handle(loop(1, updates=39), 1.0)
    assert it.why is not None
    assert "5 of 40 updates at worker 0, 5 of 39 updates at worker 1" in it.why
    assert answers == [(0, Refused(1, 1, it.why)), (1, Refused(1, 1, it.why))]


def test_a_worker_that_comes_to_a_run_with_other_epochs_is_refused_and_the_others_go_on() -> None:
    it = hub(Backup(c=1), workers=2)
    it.handle(loop(0, updates=3), 1.0)
    it.handle(loop(1, updates=3), 1.0)
    it.handle(arrived(0), 1.0)
    it.handle(arrived(1), 1.0)
    [(told, refused)] = it.handle(loop(1, updates=3, epochs=6), 2.0)
    assert (told, it.why) == (SENDER, None)
    assert isinstance(refused, Refused)
    assert "6 of 3 updates at worker 1" in refused.why
    assert it.handle(loop(0, updates=3), 3.0) == [], "the other is not blamed for that"


def test_what_was_asked_before_may_be_asked_again_however_many_there_are() -> None:
    it = hub(workers=2)
    for every in range(1, 101):
        assert it.handle(Meet(1, 1, 0, every), 1.0) == []
    assert it.handle(Meet(1, 1, 1, 100), 1.0) == []
    [(_, refused)] = it.handle(Meet(1, 1, 1, 101), 1.0)
    assert isinstance(refused, Refused)
