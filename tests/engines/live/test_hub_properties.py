"""A round stays a round and no worker waits for ever, whatever the order and number of messages."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise

import msgspec
import pytest
from hub_scripts import applied, arrived, bye, hello
from hypothesis import given, settings
from hypothesis import strategies as st

from tailcut.engines.live.controller.hub import Hub
from tailcut.engines.live.controller.orders import SENDER, Answers
from tailcut.engines.live.messages import (
    Applied,
    Arrived,
    Close,
    Free,
    FromController,
    FromWorker,
    Go,
    New,
    Over,
    Refused,
)
from tailcut.forecast import NoForecast, Trend
from tailcut.policy import Policy
from tailcut.round import Rounds
from tailcut.rules import Backup, Deadline, Explore, Fair, Floor, Stopping, WaitAll, WarmUp
from tailcut.types import RoundRecord

WORKERS = 4
POLICIES = {
    "wait-all": Policy(NoForecast(), WaitAll()),
    "first": Policy(NoForecast(), Backup(c=1)),
    "backup": Policy(NoForecast(), Backup(b=1)),
    "deadline": Policy(NoForecast(), Deadline(seconds=0.75)),
    "floor": Policy(NoForecast(), Floor(Deadline(seconds=0.25), least=0.5)),
    "explore": Policy(NoForecast(), Explore(Backup(c=2), first=1)),
    "fair": Policy(NoForecast(), Fair(Backup(c=1), most_rounds=2)),
    "stopping": Policy(Trend(), Explore(WarmUp(Stopping()), first=1)),
}
# Mostly valid steps, some invalid ones.
KINDS = (
    ["act"] * 12 + ["read"] * 6 + ["wake", "wake", "think", "overflow", "leave", "again", "other", "stranger"]
)
STEPS = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, WORKERS - 1), st.integers(1, 8)),
    min_size=10,
    max_size=150,
)


@dataclass
class Worker:
    """A worker that obeys the hub: `at` is its activity at `version`; `inbox` holds unread messages."""

    at: str = "starts"
    version: int = 0
    inbox: deque[FromController] = field(default_factory=deque)
    said: list[FromWorker] = field(default_factory=list)


@dataclass
class Scene:
    """A hub, its workers, and all that was said."""

    hub: Hub
    abandons: bool
    records: list[RoundRecord]
    now: float = 0.0
    workers: list[Worker] = field(default_factory=lambda: [Worker() for _ in range(WORKERS)])
    came: set[tuple[int, int]] = field(default_factory=set)
    closes: dict[int, Close] = field(default_factory=dict)
    refused: int = 0
    freed: list[int] = field(default_factory=list)

    def say(self, message: FromWorker) -> None:
        if isinstance(message, Arrived) and message.finite:
            self.came.add((message.worker, message.version))
        self.deliver(self.hub.handle(message, self.now))

    def deliver(self, answers: Answers) -> None:
        for worker, message in answers:
            if isinstance(message, Refused):
                assert worker == SENDER, message.why
                self.refused += 1
                continue
            if isinstance(message, Close):
                assert self.closes.setdefault(message.version, message) == message, (
                    "a round closes once, alike for all"
                )
            if isinstance(message, Free):
                self.free(worker)
            self.workers[worker].inbox.append(message)

    def free(self, who: int) -> None:
        assert self.workers[who].at == "left"
        there = [other for other in self.workers if other.at != "left"]
        assert all(other.version >= self.workers[who].version for other in there), "they lack what it holds"
        self.freed.append(who)

    def read(self, who: int) -> None:
        """Take one message out of the inbox, as a worker does that is in `step()` or between micro-batches."""
        worker = self.workers[who]
        if (
            not worker.inbox
            or worker.at in ("reduces", "left")
            or (worker.at == "computes" and not self.abandons)
        ):
            return
        message = worker.inbox.popleft()
        match message:
            case New():
                worker.at, worker.version = "computes", message.base
            case Close() if who in message.accepted:
                assert (worker.at, worker.version) == ("waits", message.version), (
                    "only who waits with a gradient reduces"
                )
                worker.at = "reduces"
            case Close() if (
                who in message.abandon and worker.at == "computes" and worker.version == message.version
            ):
                worker.at = "waits"
            case Go():
                assert worker.version <= message.version, "nobody is sent back"
                assert worker.at == "waits" or self.abandons
                if worker.at == "waits":
                    worker.at, worker.version = "computes", message.version
            case Over():
                worker.at = "left"

    def act(self, who: int, finite: bool = True) -> None:
        """Do what is next."""
        worker = self.workers[who]
        if worker.at == "computes":
            worker.at = "waits"
            self.tell(who, arrived(who, worker.version, 0.5, finite=finite))
        elif worker.at == "reduces":
            worker.at, worker.version = "computes", worker.version + 1
            self.tell(who, applied(who, worker.version))

    def tell(self, who: int, message: FromWorker) -> None:
        self.workers[who].said.append(message)
        self.say(message)

    def leave(self, who: int) -> None:
        """Out of its loop, which it can only leave between two steps."""
        worker = self.workers[who]
        if worker.at == "computes" and sum(other.at != "left" for other in self.workers) > 1:
            worker.at = "left"
            self.say(bye(who, worker.version))

    def wake(self) -> None:
        if self.hub.wake_at is not None:
            self.now = max(self.now, self.hub.wake_at)
        self.deliver(self.hub.tick(self.now))

    def again(self, who: int, number: int) -> None:
        """Send an earlier message again, unless it could be taken for a new one."""
        worker = self.workers[who]
        said = [m for m in worker.said if not (isinstance(m, Arrived) and m.version >= worker.version)]
        if said and worker.at != "left":
            self.say(said[-1 - number % len(said)])

    def other(self, who: int, number: int) -> None:
        """Send a message of another term or epoch."""
        message: FromWorker = [arrived(who, self.hub.version), applied(who, self.hub.version + 1)][number % 2]
        changed = {"epoch": 2} if number % 4 < 2 else {"term": 3}
        before = self.hub.ignored
        self.deliver(self.hub.handle(msgspec.structs.replace(message, **changed), self.now))
        assert self.hub.ignored == before + 1

    def step(self, kind: str, who: int, number: int) -> None:
        self.now += number / 16
        match kind:
            case "act":
                self.act(who)
            case "overflow":
                self.act(who, finite=False)
            case "read":
                for _ in range(number):
                    self.read(who)
            case "leave":
                self.leave(who)
            case "wake":
                self.wake()
            case "think":
                self.deliver(self.hub.think())
            case "again":
                self.again(who, number)
            case "other":
                self.other(who, number)
            case "stranger":
                before = self.refused
                self.say(arrived(WORKERS + number))
                assert self.refused == before + 1

    def settle(self) -> None:
        """Let each worker read its messages and act once; then let the time pass and the hub act."""
        for who in range(WORKERS):
            while self.workers[who].inbox and self.workers[who].at in ("starts", "waits"):
                self.read(who)
            self.act(who)
        self.now += 1.0
        self.deliver(self.hub.think())
        self.wake()


def scene(policy: str, late_finish: bool) -> Scene:
    records: list[RoundRecord] = []
    hub = Hub(Rounds(POLICIES[policy], late_finish=late_finish), WORKERS, records=records.append)
    it = Scene(hub, not late_finish, records)
    for who in range(WORKERS):
        it.say(hello(who, WORKERS))
    return it


@settings(max_examples=150, deadline=None)
@given(policy=st.sampled_from(sorted(POLICIES)), late_finish=st.booleans(), steps=STEPS)
def test_rounds_stay_rounds_and_nobody_is_left_waiting(
    policy: str, late_finish: bool, steps: list[tuple[str, int, int]]
) -> None:
    it = scene(policy, late_finish)
    for step in steps:
        it.step(*step)
    reached = it.hub.version
    for _ in range(12):
        it.settle()
    assert it.hub.why is None
    assert it.hub.version >= reached + 2, "once everybody does its part, versions come out"
    it.hub.think()
    versions = [record.version for record in it.records]
    assert versions == list(range(len(versions))), "every round is closed once, in order"
    assert sorted(it.closes) in (versions, [*versions, len(versions)]), (
        "of the last the update may not be made"
    )
    for record in it.records:
        close = it.closes[record.version]
        accepted = [int(w) for w in record.roster.workers[record.accepted > 0]]
        assert list(close.accepted) == accepted, "in the order of the ring"
        assert accepted
        assert all((worker, record.version) in it.came for worker in accepted)
    assert all(one.opened + one.elapsed <= other.opened for one, other in pairwise(it.records))


@settings(max_examples=50, deadline=None)
@given(policy=st.sampled_from(sorted(POLICIES)), late_finish=st.booleans(), steps=STEPS)
def test_when_all_have_left_the_run_is_over_and_everybody_knows(
    policy: str, late_finish: bool, steps: list[tuple[str, int, int]]
) -> None:
    it = scene(policy, late_finish)
    for step in steps:
        it.step(*step)
    for who in range(WORKERS):
        if it.workers[who].at != "left":
            it.freed += [w for w, message in it.hub.handle(bye(who), it.now) if isinstance(message, Free)]
    # Some leave in the midst of an update here; if no worker is left to make it, `why` says so.
    assert it.hub.over
    assert it.hub.why is None or "was never made" in it.hub.why
    assert sorted(it.freed) == list(range(WORKERS)), "once each"


def test_the_model_of_a_worker_can_tell_a_hub_that_errs() -> None:
    it = scene("backup", late_finish=True)
    it.settle()
    it.deliver([(3, Close(1, 1, 7, (3,), 1.0, ()))])
    with pytest.raises(AssertionError, match="only who waits with a gradient reduces"):
        it.settle()


def test_doubled_reports_of_an_update_open_one_round() -> None:
    it = scene("wait-all", late_finish=True)
    it.settle()
    for who in range(WORKERS):
        it.read(who)
        it.act(who)
    report = it.workers[0].said[-1]
    assert isinstance(report, Applied)
    version = it.hub.version
    it.say(report)
    it.say(report)
    assert it.hub.version == version
    assert it.hub.why is None
