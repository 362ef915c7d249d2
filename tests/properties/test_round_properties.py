"""A round stays a round, whatever events the state machine gets, in whatever order."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import zip_longest
from typing import Any, final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailcut.acceptance import (
    ASYNCHRONOUS,
    BATCH_SYNCHRONOUS,
    STALE_SYNCHRONOUS,
    SYNCHRONOUS,
    Acceptance,
    bounded_stale,
)
from tailcut.events import (
    Applied,
    Arrivals,
    Arrived,
    CloseRound,
    Command,
    Event,
    Joined,
    Left,
    OpenRound,
    Settle,
    StartWork,
    Tick,
    WakeAt,
    arrivals_of,
    merge_arrivals,
)
from tailcut.forecast import NoForecast, Normal, Recent, Trend
from tailcut.policy import Policy
from tailcut.round import Rounds
from tailcut.rules import (
    Ahead,
    Backup,
    Bandit,
    Deadline,
    Explore,
    Fair,
    Floor,
    Opening,
    Rule,
    Stopping,
    WaitAll,
    WarmUp,
)
from tailcut.types import Close, Decision, Fate, IntArray, Progress, RoundRecord, Wait

WORKERS = 5
ENDS = (Fate.USED, Fate.REJECTED, Fate.LOST, Fate.ABANDONED)


@final
@dataclass(frozen=True, slots=True)
class Whim(Rule[None, None]):
    """Decides, lets finish and welcomes by a hash of what it sees: allowed, and of no use."""

    seed: int

    def start(self) -> None:
        pass

    def plan(self, memory: None, opening: Opening) -> None:
        pass

    def decide(self, plan: None, progress: Progress) -> Decision:
        dice = np.random.default_rng([self.seed, progress.count, int(8 * progress.elapsed)])
        if dice.random() < 0.3:
            return Close()
        count = int(dice.integers(0, WORKERS + 2)) if dice.random() < 0.6 else None
        until = progress.elapsed + float(dice.integers(1, 9)) / 8 if dice.random() < 0.6 else None
        return Wait(count, until)

    def finishers(self, memory: None, record: RoundRecord) -> IntArray:
        return np.flatnonzero(np.random.default_rng([self.seed, record.version]).random(WORKERS) < 0.3)

    def worker_deadline(self, plan: None) -> float | None:
        return 0.5 if self.seed % 3 == 0 else None

    def welcome_stale(self, plan: None) -> IntArray:
        return np.flatnonzero(np.arange(WORKERS) % 3 == self.seed % 3)

    def worth_starting(self, plan: None, position: int, elapsed: float) -> bool:
        return (position + int(8 * elapsed) + self.seed) % 4 > 0


POLICIES = {
    "wait-all": Policy(NoForecast(), WaitAll()),
    "backup-b": Policy(NoForecast(), Backup(b=1)),
    "backup-c": Policy(NoForecast(), Backup(c=2)),
    "backup-share": Policy(NoForecast(), Backup(share=0.5)),
    "deadline": Policy(NoForecast(), Deadline(seconds=0.75)),
    "bandit": Policy(NoForecast(), Bandit()),
    "elfving": Policy(Normal(), WarmUp(Ahead())),
    "empirical": Policy(Recent(), WarmUp(Ahead())),
    "stopping": Policy(Trend(), Explore(WarmUp(Stopping()), first=1)),
    "fair-wait": Policy(NoForecast(), Fair(Backup(c=1), most_rounds=2)),
    "fair-stale": Policy(NoForecast(), Fair(Explore(Backup(c=1), first=1), most_rounds=1, how="stale")),
    "floor": Policy(NoForecast(), Floor(Deadline(seconds=0.25), least=0.5)),
    **{f"whim{seed}": Policy(NoForecast(), Whim(seed)) for seed in range(6)},
}
ACCEPTANCES = {
    "synchronous": SYNCHRONOUS,
    "bounded": bounded_stale(1),
    "stale": STALE_SYNCHRONOUS,
    "batch": BATCH_SYNCHRONOUS,
    "asynchronous": ASYNCHRONOUS,
}

# What is sent: mostly sense, some nonsense. `who` and `number` are read as the kind needs them.
KINDS = (
    ["work"] * 12
    + ["tie"] * 4
    + ["apply"] * 6
    + ["wake"] * 4
    + ["join"] * 3
    + [
        "leave",
        "overflow",
        "part",
        "tick",
        "duplicate",
        "any-version",
        "any-applied",
        "back-in-time",
        "stranger",
    ]
)
STEPS = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, WORKERS - 1), st.integers(0, 12)),
    min_size=20,
    max_size=120,
)


@dataclass
class Witness:
    """Plays the engine, keeps its own books of what it was told, and checks every command against them."""

    machine: Rounds
    refill: bool
    shuffle: int = 0
    now: float = 0.0
    members: set[int] = field(default_factory=set)
    at_work: dict[int, int] = field(default_factory=dict)
    roster: set[int] | None = None
    version: int | None = None
    awaited: int = 0
    wake: float | None = None
    arrived: Counter[tuple[int, int]] = field(default_factory=Counter)
    begun: Counter[tuple[int, int]] = field(default_factory=Counter)
    ended: Counter[tuple[int, int]] = field(default_factory=Counter)
    closed: list[int] = field(default_factory=list)
    sent: list[Event] = field(default_factory=list)
    told: list[Command] = field(default_factory=list)

    def send(self, event: Event) -> None:
        commands = [*self.machine.handle(event), *self.machine.think()]
        self.sent.append(event)
        self.told += commands
        assert self.machine.now == event.now >= self.now, "virtual time never runs backwards"
        self.now = event.now
        match event:
            case Joined():
                self.members.add(event.worker)
                self.at_work.pop(event.worker, None)
            case Left():
                self.members.discard(event.worker)
                self.at_work.pop(event.worker, None)
        for arrival in arrivals_of(event):
            if self.at_work.get(arrival.worker) == arrival.version:
                del self.at_work[arrival.worker]
                self.arrived[arrival.worker, arrival.version] += 1
        if isinstance(event, Arrivals) and not self.machine.acceptance.is_sequential:
            self._check_together(event, commands)
        for command in commands:
            self._check(command)

    def _check_together(self, event: Arrivals, commands: list[Command]) -> None:
        """A round that closes at an instant has all of its gradients that arrived there."""
        for close in (command for command in commands if isinstance(command, CloseRound)):
            accepted = {(gradient.worker, gradient.version) for gradient in close.accepted}
            in_hand = {
                (arrival.worker, arrival.version)
                for arrival in event.arrivals
                if arrival.finite and arrival.version == close.version and arrival.worker in self.members
            }
            assert in_hand & set(self.arrived) <= accepted

    def _check(self, command: Command) -> None:
        match command:
            case OpenRound():
                # A round of which nothing came is tried again; otherwise versions follow each other.
                assert command.version == self.awaited
                assert self.members, "somebody takes part"
                self.version, self.roster, self.wake = command.version, set(self.members), None
                for worker in command.workers:
                    self._begin(worker, command.version)
            case StartWork():
                assert self.roster is not None
                assert command.version == self.version
                self._begin(command.worker, command.version)
            case WakeAt():
                assert self.roster is not None
                assert command.now >= self.now
                self.wake = command.now
            case Settle():
                assert command.fate not in (Fate.PENDING, Fate.UNSTARTED, Fate.ABANDONED)
                self.ended[command.worker, command.version] += 1
            case CloseRound():
                self._check_close(command)

    def _begin(self, worker: int, version: int) -> None:
        assert worker in self.members
        assert worker not in self.at_work, "nobody does two things at a time"
        self.at_work[worker] = version
        self.begun[worker, version] += 1

    def _check_close(self, close: CloseRound) -> None:
        assert self.roster is not None, "a round closes exactly once"
        record, version = close.record, close.version
        assert version == self.version == record.version
        n, accepted = len(record.roster), Counter((g.worker, g.version) for g in close.accepted)
        assert {worker for worker, _ in accepted} <= set(record.roster.workers.tolist()) <= self.roster
        assert record.count == len(close.accepted) == len(record.staleness) >= 1
        assert [version - g.version for g in close.accepted] == record.staleness.tolist()
        if not self.refill:
            assert record.count <= n
            assert len({worker for worker, _ in accepted}) == len(close.accepted)
        for gradient, times in accepted.items():
            assert times <= self.arrived[gradient], "only what arrived, and no gradient twice"
            self.arrived[gradient] -= times
        inside = record.arrivals[np.isfinite(record.arrivals)]
        assert (inside >= 0.0).all()
        assert (inside <= record.elapsed).all()
        assert set(close.abandon) <= set(self.at_work)
        for worker in close.abandon:
            assert self.at_work.pop(worker) == version
        for worker, fate in zip(record.roster.workers.tolist(), record.fates.tolist(), strict=True):
            self.ended[worker, version] += fate in ENDS
        seen = record.run_times
        assert (seen.seconds > 0.0).all()
        assert np.isfinite(seen.seconds).all()
        assert len(set(seen.workers.tolist())) == len(seen)
        self.closed.append(version)
        self.roster, self.wake, self.awaited = None, None, version + 1

    def step(self, kind: str, who: int, number: int) -> None:
        later = self.now + number / 8
        match kind:
            case "work" | "overflow" | "part" if self.at_work:
                worker = sorted(self.at_work)[who % len(self.at_work)]
                share = 0.5 if kind == "part" else 1.0
                run_time = later - number / 16
                self.send(Arrived(later, worker, self.at_work[worker], run_time, share, kind != "overflow"))
            case "tie" if self.at_work:
                self.send(merge_arrivals(self._tied(later, who, number)))
            case "apply" if self.roster is None:
                self.send(Applied(later, self.awaited))
            case "wake" if self.wake is not None:
                self.send(Tick(max(self.wake, self.now)))
            case "join":
                self.send(Joined(later, who, number % 3 - 1))
            case "leave":
                self.send(Left(later, who))
            case "tick":
                self.send(Tick(later))
            case "duplicate" if who not in self.at_work:
                self.send(Arrived(later, who, self.awaited, 1.0))
            case "any-version" if self.at_work.get(who) != number - 2:
                self.send(Arrived(later, who, number - 2, 0.0))
            case "any-applied" if self.roster is None and number != self.awaited and self.closed:
                self.send(Applied(later, number))
            case "any-applied" if self.roster is not None:
                self.send(Applied(later, number))
            case "back-in-time" if self.now > 0.0:
                with pytest.raises(ValueError, match="order of time"):
                    self.machine.handle(Tick(math.nextafter(self.now, -math.inf)))
            case "stranger":
                self.send(Arrived(later, WORKERS + who, self.awaited, 1.0))
            case _:
                pass

    def _tied(self, later: float, who: int, number: int) -> list[Arrived]:
        """Arrivals of several workers at one instant, in an order that depends on `shuffle`."""
        workers = [worker for worker in sorted(self.at_work) if worker % 3 != who % 3] or sorted(self.at_work)
        tied = [
            Arrived(
                later,
                worker,
                self.at_work[worker],
                later,
                0.5 if worker == who else 1.0,
                worker + number != 5,
            )
            for worker in workers
        ]
        order = np.random.default_rng([self.shuffle, number]).permutation(len(tied))
        return [tied[place] for place in order]

    def everybody_leaves(self) -> None:
        for worker in range(WORKERS):
            self.send(Left(self.now + 0.125, worker))


def witness(policy: str, acceptance: Acceptance, late_finish: bool, shuffle: int = 0) -> Witness:
    machine = Rounds(POLICIES[policy], acceptance, late_finish, overhead=0.125)
    engine = Witness(machine, acceptance.refill, shuffle)
    for worker in range(3):
        engine.send(Joined(0.0, worker))
    engine.send(Applied(0.0, 0))
    return engine


def play(
    policy: str, acceptance: str, late_finish: bool, steps: list[tuple[str, int, int]], shuffle: int = 0
) -> Witness:
    engine = witness(policy, ACCEPTANCES[acceptance], late_finish, shuffle)
    for step in steps:
        engine.step(*step)
    return engine


SETTINGS = settings(max_examples=100, deadline=None)
SCRIPTS: dict[str, Any] = {
    "policy": st.sampled_from(sorted(POLICIES)),
    "acceptance": st.sampled_from(sorted(ACCEPTANCES)),
    "late_finish": st.booleans(),
    "steps": STEPS,
}


@SETTINGS
@given(**SCRIPTS)
def test_any_script_gives_well_formed_rounds(
    policy: str, acceptance: str, late_finish: bool, steps: list[tuple[str, int, int]]
) -> None:
    engine = play(policy, acceptance, late_finish, steps)
    assert engine.closed == list(range(len(engine.closed))), "versions increase by one"


@SETTINGS
@given(**{**SCRIPTS, "acceptance": st.sampled_from(["synchronous", "bounded", "stale"])})
def test_every_gradient_that_was_begun_has_exactly_one_fate_in_the_end(
    policy: str, acceptance: str, late_finish: bool, steps: list[tuple[str, int, int]]
) -> None:
    engine = play(policy, acceptance, late_finish, steps)
    engine.everybody_leaves()
    assert +engine.begun == +engine.ended


@SETTINGS
@given(**SCRIPTS)
def test_the_same_script_gives_the_same_commands(
    policy: str, acceptance: str, late_finish: bool, steps: list[tuple[str, int, int]]
) -> None:
    one, other = (play(policy, acceptance, late_finish, steps) for _ in range(2))
    assert one.closed == other.closed
    assert one.begun == other.begun
    assert one.ended == other.ended
    assert one.now == other.now


def exactly(value: Any) -> Any:
    """The same thing as numbers and bytes, so that equal means equal to the last bit."""
    if is_dataclass(value):
        return type(value), tuple(exactly(getattr(value, each.name)) for each in fields(value))
    if isinstance(value, list | tuple):
        return tuple(exactly(each) for each in value)
    return (value.dtype.str, value.shape, value.tobytes()) if isinstance(value, np.ndarray) else repr(value)


TOGETHER = [name for name, acceptance in ACCEPTANCES.items() if not acceptance.is_sequential]


@SETTINGS
@given(**{**SCRIPTS, "acceptance": st.sampled_from(TOGETHER)}, shuffle=st.integers(1, 1000))
def test_arrivals_of_one_instant_in_any_order_give_the_same_records(
    policy: str, acceptance: str, late_finish: bool, steps: list[tuple[str, int, int]], shuffle: int
) -> None:
    one = play(policy, acceptance, late_finish, steps)
    other = play(policy, acceptance, late_finish, steps, shuffle)
    assert exactly(other.told) == exactly(one.told)
    assert exactly(other.machine.state) == exactly(one.machine.state)


@SETTINGS
@given(**{**SCRIPTS, "acceptance": st.just("asynchronous")})
def test_asynchronously_arrivals_of_one_instant_are_as_if_each_came_alone(
    policy: str, acceptance: str, late_finish: bool, steps: list[tuple[str, int, int]]
) -> None:
    together = play(policy, acceptance, late_finish, steps)
    alone = Rounds(POLICIES[policy], ACCEPTANCES[acceptance], late_finish, overhead=0.125)
    told: list[Command] = []
    for event in together.sent:
        for each in arrivals_of(event) or (event,):
            told += alone.handle(each)
        told += alone.think()
    assert exactly(told) == exactly(together.told)


@SETTINGS
@given(**SCRIPTS, moments=st.lists(st.sampled_from([0, 0, 1, 2]), max_size=40), looks=st.booleans())
def test_it_does_not_matter_when_a_run_thinks(
    policy: str,
    acceptance: str,
    late_finish: bool,
    steps: list[tuple[str, int, int]],
    moments: list[int],
    looks: bool,
) -> None:
    prompt = play(policy, acceptance, late_finish, steps)
    machine = Rounds(POLICIES[policy], ACCEPTANCES[acceptance], late_finish, overhead=0.125)
    told: list[Command] = []
    for event, thoughts in zip_longest(prompt.sent, moments[: len(prompt.sent)], fillvalue=0):
        assert not isinstance(event, int)
        told += machine.handle(event)
        if looks:
            assert machine.state is machine.state
        for _ in range(thoughts):
            told += machine.think()
    told += machine.think()
    assert exactly(told) == exactly(prompt.told)
    assert exactly(machine.state) == exactly(prompt.machine.state)
    assert machine.overhead == prompt.machine.overhead


def test_random_scripts_reach_what_they_are_meant_to_reach() -> None:
    rng = np.random.default_rng(0)
    closed, settled, again = 0, 0, 0
    for _ in range(100):
        steps = [
            (KINDS[int(rng.integers(len(KINDS)))], int(rng.integers(WORKERS)), int(rng.integers(13)))
            for _ in range(80)
        ]
        engine = play("backup-c", "stale", False, steps)
        closed += len(engine.closed)
        settled += sum(engine.ended.values())
        again += max(engine.begun.values()) > 1
    assert closed > 400
    assert settled > 800
    assert again > 0, "some rounds must have been tried again"
