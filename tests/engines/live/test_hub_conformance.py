"""One script of arrivals gives equal records through the hub, through the rounds alone and in the simulated engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hub_scripts import Fleet, applied, arrived, bye, exactly, hello

from tailcut import events, names
from tailcut.clusters.presets import PRESETS
from tailcut.engines.live.controller.hub import Hub
from tailcut.engines.live.messages import Arrived, Close, Go, Limit
from tailcut.engines.simulated import replay
from tailcut.policy import Policy
from tailcut.round import Rounds
from tailcut.table import Table
from tailcut.types import Fate, RoundRecord

OVERHEAD = 0.03125
POLICIES = [
    "wait-all",
    "backup:b=2",
    "backup:c=1",
    "deadline:seconds=1.5",
    "stopping",
    "bayes",
    "drop-compute:window=5",
]
both_modes = pytest.mark.parametrize("late_finish", [False, True], ids=["abandon", "finish"])
every_policy = pytest.mark.parametrize("name", POLICIES)


def policy_of(name: str) -> Policy:
    found = names.entrant(name).policy
    assert isinstance(found, Policy)
    return found


def source(rounds: int = 40, n: int = 6) -> Table:
    """A table in which some are very late now and then."""
    return PRESETS["demo8"].factory(n=n).sample(rounds, np.random.default_rng(7)).table


class Log:
    """A run of the simulated engine: every event, every command."""

    def __init__(self, table: Table, name: str, late_finish: bool) -> None:
        self.events: list[events.Event] = []
        self.commands: list[events.Command] = []
        policy = policy_of(name)
        replay(
            table, policy, late_finish=late_finish, overhead=OVERHEAD, micro=policy.micro, watch=self._watch
        )

    def _watch(self, event: events.Event, commands: list[events.Command]) -> None:
        self.events.append(event)
        self.commands += commands

    def closes(self) -> list[events.CloseRound]:
        return [command for command in self.commands if isinstance(command, events.CloseRound)]

    def settled(self) -> list[events.Settle]:
        return [command for command in self.commands if isinstance(command, events.Settle)]


class Books:
    """A hub with the records and fates that it reports."""

    def __init__(self, name: str, late_finish: bool, workers: int) -> None:
        self.records: list[RoundRecord] = []
        self.settled: list[events.Settle] = []
        rounds = Rounds(policy_of(name), late_finish=late_finish, overhead=OVERHEAD)
        self.hub = Hub(rounds, workers, records=self.records.append, settled=self.settled.append)


def message_of(event: events.Arrived) -> Arrived:
    """Return the worker's message for an arrival event."""
    more = {"share": event.share, "finite": event.finite, "samples": round(8 * event.share)}
    return arrived(event.worker, event.version, event.run_time, **more)


def script(log: Log, hub: Hub, workers: int) -> list[tuple[float, int, Any]]:
    """The events of a simulated run as messages to a hub; what it answers, with the time."""
    answers: list[tuple[float, int, Any]] = []
    accepted: set[int] = set()
    for event in log.events:
        match event:
            case events.Joined():
                told = hub.handle(hello(event.worker, workers, node=event.node), event.now)
            case events.Arrived() | events.Arrivals():
                said = [message_of(one) for one in events.arrivals_of(event)]
                told = [answer for message in said for answer in hub.handle(message, event.now)]
            case events.Applied(version=0):
                # The last Hello has begun the run.
                told = []
            case events.Applied():
                # The others' reports change nothing.
                told = [a for w in sorted(accepted) for a in hub.handle(applied(w, event.version), event.now)]
            case events.Left():
                accepted.discard(event.worker)
                told = hub.handle(bye(event.worker), event.now)
            case events.Tick():
                told = hub.tick(event.now)
        told = [*told, *hub.think()]
        for close in (message for _, message in told if isinstance(message, Close)):
            accepted = set(close.accepted)
        answers += [(event.now, worker, message) for worker, message in told]
    # The record of the last round is told when its update is made.
    for worker in accepted:
        hub.handle(applied(worker, hub.version + 1), event.now)
    hub.think()
    return answers


@both_modes
@every_policy
def test_a_script_of_arrivals_gives_the_records_of_the_rounds_alone(name: str, late_finish: bool) -> None:
    table = source()
    log, books = Log(table, name, late_finish), Books(name, late_finish, table.workers)
    answers = script(log, books.hub, table.workers)
    assert len(books.records) == table.rounds
    assert exactly(books.records) == exactly([close.record for close in log.closes()])
    assert exactly(books.settled) == exactly(log.settled())
    told = [message for _, worker, message in answers if isinstance(message, Close) and worker == 0]
    assert [(close.version, list(close.accepted), close.abandon) for close in told] == [
        (close.version, sorted(g.worker for g in close.accepted), close.abandon) for close in log.closes()
    ]


@both_modes
@pytest.mark.parametrize("thinks", [True, False], ids=["thinking", "thoughtless"])
@every_policy
def test_workers_that_do_as_they_are_told_make_the_run_of_the_simulated_engine(
    name: str, thinks: bool, late_finish: bool
) -> None:
    table = source(rounds=25)
    log, books = Log(table, name, late_finish), Books(name, late_finish, table.workers)
    fleet = Fleet(books.hub, table, OVERHEAD, policy_of(name).micro, thinks)
    fleet.run(table.rounds)
    assert books.hub.version == table.rounds
    assert exactly(books.records) == exactly([close.record for close in log.closes()])
    limited = any(isinstance(message, Limit) for _, message in fleet.sent)
    assert limited == name.startswith("drop-compute")


def test_the_scripts_have_late_workers_in_both_modes() -> None:
    finish, abandon = Log(source(), "backup:b=2", True), Log(source(), "backup:b=2", False)
    assert any(settle.fate is Fate.LATE for settle in finish.settled())
    assert any(close.abandon for close in abandon.closes())
    busy = [close for close in finish.closes() if (close.record.fates == Fate.UNSTARTED).any()]
    assert busy, "somebody must be late for a round it never began"


@both_modes
def test_workers_that_leave_for_good_leave_the_same_records(late_finish: bool) -> None:
    table = source(rounds=30)
    seconds = table.seconds.copy()
    seconds[10:, 1], seconds[20:, 4] = np.nan, np.nan
    table = Table(seconds, ~np.isnan(seconds), table.names, table.nodes)
    log = Log(table, "backup:c=3", late_finish)
    books = Books("backup:c=3", late_finish, table.workers)
    script(log, books.hub, table.workers)
    assert sum(isinstance(event, events.Left) for event in log.events) == 2
    assert exactly(books.records) == exactly([close.record for close in log.closes()])
    assert exactly(books.settled) == exactly(log.settled())


@both_modes
def test_who_is_late_is_sent_for_once_for_every_round_it_takes_part_in(late_finish: bool) -> None:
    table = source()
    log, books = Log(table, "backup:b=2", late_finish), Books("backup:b=2", late_finish, table.workers)
    answers = script(log, books.hub, table.workers)
    last: set[int] = set(range(table.workers))
    wanted: list[tuple[int, int]] = []
    for command in log.commands:
        match command:
            case events.OpenRound():
                wanted += [(worker, command.version) for worker in command.workers if worker not in last]
            case events.StartWork():
                wanted.append((command.worker, command.version))
            case events.CloseRound():
                last = {gradient.worker for gradient in command.accepted}
    sent_for = [(worker, message.version) for _, worker, message in answers if isinstance(message, Go)]
    assert wanted
    assert sent_for == wanted
