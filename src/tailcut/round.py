"""The heart: rounds as a state machine. Events in, commands out; no clock, no socket, no thread, no file.

    Applied ─▶ OpenRound ─▶ Arrived | Left | Tick … ─▶ CloseRound ─▶ (the engine reduces and applies) ─▶ Applied

Rules that hold whatever the engine: a round closes exactly once, with at least one gradient; the accepted set is
fixed at the close; distinct workers are counted unless the acceptance says otherwise; every gradient has one fate;
a message about work the machine does not know of (a duplicate, a worker it expelled) changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tailcut.acceptance import SYNCHRONOUS, Acceptance
from tailcut.events import (
    Accepted,
    Applied,
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
)
from tailcut.ledger import OpenLedger, is_run_time
from tailcut.policy import Decider, PolicyState
from tailcut.types import Close, Fate, IntArray, Roster, RunTimes, Seconds, Wait, WorkerId

MEASURED_OVER = 16
"""Rounds over which the overhead between a close and the next opening is averaged."""


@dataclass(slots=True)
class Member:
    """A worker that is there. `version` is what it works on, None while it is free."""

    node: int
    version: int | None = None
    since: Seconds = 0.0


@dataclass(slots=True)
class Rounds:
    """All rounds of one run, one at a time.

    Attributes:
        policy: decides when to close.
        acceptance: which gradients count.
        late_finish: whether late workers finish their work (True) or abandon it at the close.
        overhead: seconds from a close to the next opening, as first guess; measured from then on.

    Example:
        >>> from tailcut.forecast import NoForecast
        >>> from tailcut.policy import Policy
        >>> from tailcut.rules import Backup
        >>> rounds = Rounds(Policy(NoForecast(), Backup(b=1)))
        >>> for worker in (0, 1, 2):
        ...     _ = rounds.handle(Joined(0.0, worker))
        >>> rounds.handle(Applied(0.0, version=0))
        [OpenRound(version=0, workers=(0, 1, 2), deadline=None)]
        >>> rounds.handle(Arrived(1.0, worker=2, version=0, run_time=1.0))
        []
        >>> [close] = rounds.handle(Arrived(1.5, worker=0, version=0, run_time=1.5))
        >>> [gradient.worker for gradient in close.accepted], close.abandon
        ([2, 0], (1,))
    """

    policy: Decider
    acceptance: Acceptance = SYNCHRONOUS
    late_finish: bool = False
    overhead: Seconds = 0.0

    state: PolicyState = field(init=False)
    now: Seconds = field(default=-np.inf, init=False)
    _members: dict[WorkerId, Member] = field(default_factory=dict, init=False)
    _open: OpenLedger | None = field(default=None, init=False)
    _plan: Any = field(default=None, init=False)
    _deadline: Seconds | None = field(default=None, init=False)
    _welcome: frozenset[WorkerId] = field(default=frozenset(), init=False)
    _wait: Wait = field(default=Wait(), init=False)
    _ready: int | None = field(default=None, init=False)
    _newest: int = field(default=-1, init=False)
    _closed: Seconds | None = field(default=None, init=False)
    _backlog: list[Arrived] = field(default_factory=list, init=False)
    _reports: dict[WorkerId, tuple[int, Seconds, bool]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.state = self.policy.start()

    def handle(self, event: Event) -> list[Command]:
        """Take one event; say what to do. Events come in the order of their times."""
        if not event.now >= self.now:
            raise ValueError(
                f"Events must come in the order of time: got {event} at {event.now} after {self.now}. "
                "Deliver the older event first."
            )
        self.now = event.now
        match event:
            case Arrived():
                return self._arrived(event)
            case Tick():
                return self._consult() if self._due(tick=True) else []
            case Applied():
                return self._applied(event)
            case Joined():
                return self._joined(event)
            case Left():
                return self._left(event)

    # -- membership ---------------------------------------------------------------------------------------------

    def _joined(self, event: Joined) -> list[Command]:
        # A worker that joins again without having left was restarted unnoticed: what it computed is lost.
        commands = self._left(Left(event.now, event.worker)) if event.worker in self._members else []
        self._members[event.worker] = Member(event.node)
        if self._open is None and self._ready is not None:
            commands += self._open_round(self._ready)
        return commands

    def _left(self, event: Left) -> list[Command]:
        member = self._members.pop(event.worker, None)
        if member is None:
            return []
        arrived = [a for a in self._backlog if a.worker == event.worker]
        self._backlog = [a for a in self._backlog if a.worker != event.worker]
        commands = [self._settle(a, member, Fate.LATE) for a in arrived]
        ledger = self._open
        current = ledger is not None and member.version == ledger.version
        if member.version is not None and not current:
            commands.append(Settle(event.worker, member.version, Fate.LOST, event.now - member.since))
            self._report(event.worker, member.node, event.now - member.since, False)
        if ledger is not None and event.worker in ledger.position:
            ledger.lose(event.worker, event.now, member.since if current else None)
            commands += self._consult()
        return commands

    # -- opening ------------------------------------------------------------------------------------------------

    def _applied(self, event: Applied) -> list[Command]:
        # Only what follows the closed version can be out; a run may begin with any.
        awaited = event.version > self._newest if self._closed is None else event.version == self._newest + 1
        if self._open is not None or self._ready is not None or not awaited:
            return []
        if self._closed is not None:
            measured = event.now - self._closed
            self.overhead += (measured - self.overhead) / MEASURED_OVER
        self._ready = self._newest = event.version
        return self._open_round(event.version) if self._members else []

    def _open_round(self, version: int) -> list[Command]:
        self._ready = None
        roster = self._roster()
        self._open = OpenLedger(version, self.now, roster, counts_workers=not self.acceptance.refill)
        self._wait = Wait()
        self._plan = self.policy.plan(self.state, roster, self.overhead, self.late_finish)
        self._deadline = self.policy.worker_deadline(self._plan)
        self._welcome = frozenset(self.policy.welcome_stale(self._plan).tolist())
        settled = self._clear_backlog()
        free = tuple(
            worker
            for worker, member in sorted(self._members.items())
            if member.version is None and (self.acceptance.refill or not self._open.is_in(worker))
        )
        for worker in free:
            self._start(worker, version)
        return [OpenRound(version, free, self._deadline), *settled, *self._consult()]

    def _clear_backlog(self) -> list[Command]:
        """Arrivals since the last close: this round may want them, otherwise they are late."""
        backlog, self._backlog = self._backlog, []
        return [
            command for arrived in backlog for command in self._take(arrived, self._members[arrived.worker])
        ]

    def _roster(self) -> Roster:
        ids = sorted(self._members)
        members = [self._members[worker] for worker in ids]
        busy = [np.nan if m.version is None else self.now - m.since for m in members]
        nodes = np.array([m.node for m in members], dtype=np.int64)
        return Roster(np.array(ids, dtype=np.int64), nodes, np.array(busy, dtype=np.float64))

    def _start(self, worker: WorkerId, version: int) -> None:
        member = self._members[worker]
        member.version, member.since = version, self.now
        if self._open is not None:
            self._open.started(worker, self.now)

    # -- arrivals -----------------------------------------------------------------------------------------------

    def _arrived(self, event: Arrived) -> list[Command]:
        member = self._members.get(event.worker)
        if member is None or member.version != event.version:
            return []
        member.version = None
        ledger = self._open
        if ledger is None:
            self._backlog.append(event)
            return []
        commands = self._take(event, member)
        # A gradient that cannot be used still tells: one fewer will come than the rule counted on.
        if self._due(tick=False) or not event.finite:
            commands += self._consult()
        # Whoever is not in this round yet, or may be in it more than once, goes on with the newest parameters; if
        # its arrival closed the round, those are not out yet.
        if self._open is ledger and (self.acceptance.refill or not ledger.is_in(event.worker)):
            commands += self._go_on(ledger, event.worker)
        return commands

    def _go_on(self, ledger: OpenLedger, worker: WorkerId) -> list[Command]:
        """A worker comes free in mid-round: it begins, or sits out until the next opening if that is too late."""
        position = ledger.position.get(worker)
        elapsed = self.now - ledger.opened
        if position is None or self.acceptance.keeps_work:
            worth = True
        else:
            worth = self.policy.worth_starting(self._plan, position, elapsed)
        if not worth:
            ledger.sit_out(worker)
            return self._consult()
        self._start(worker, ledger.version)
        return [StartWork(worker, ledger.version, self._deadline)]

    def _take(self, event: Arrived, member: Member) -> list[Command]:
        """Count the gradient in the open round if it may be; one of an older version is settled either way."""
        assert self._open is not None
        staleness = self._open.version - event.version
        if not self._may_take(event, staleness):
            return [self._settle(event, member, Fate.LATE)]
        self._open.take(event, staleness)
        if staleness == 0:
            return []
        return [self._settle(event, member, Fate.USED if event.finite else Fate.REJECTED)]

    def _may_take(self, event: Arrived, staleness: int) -> bool:
        assert self._open is not None
        if not (self.acceptance.admits(staleness) or event.worker in self._welcome):
            return False
        if event.worker not in self._open.position:
            return False
        return not (self._open.counts_workers and self._open.is_in(event.worker))

    def _settle(self, event: Arrived, member: Member, fate: Fate) -> Command:
        """A gradient that was pending has come: its round could not tell its run time, so it is told now."""
        self._report(event.worker, member.node, event.run_time, event.share >= 1.0)
        return Settle(event.worker, event.version, fate, event.run_time)

    def _report(self, worker: WorkerId, node: int, seconds: Seconds, observed: bool) -> None:
        if is_run_time(seconds):
            # A worker has at most one piece of old work, so this never replaces another report.
            self._reports[worker] = (node, seconds, observed)

    # -- closing ------------------------------------------------------------------------------------------------

    def _due(self, tick: bool) -> bool:
        """Whether the last `Wait` asked to be woken by now, or nobody is left to wait for.

        An arrival at the very moment of a wake-up leaves the decision to the tick: others may come then too.
        """
        ledger = self._open
        if ledger is None:
            return False
        if ledger.complete or (self._wait.count is not None and ledger.count >= self._wait.count):
            return True
        if self._wait.until is None:
            return False
        moment = ledger.opened + self._wait.until
        return self.now >= moment if tick else self.now > moment

    def _consult(self) -> list[Command]:
        ledger = self._open
        assert ledger is not None
        if ledger.empty:
            return self._abort(ledger)
        if ledger.complete:
            return [self._close(ledger)]
        decision = self.policy.decide(self._plan, ledger.progress(self._elapsed(ledger)))
        if isinstance(decision, Close):
            if ledger.count:
                return [self._close(ledger)]
            decision = Wait(count=1)
        self._wait = decision
        return [] if decision.until is None else [WakeAt(ledger.opened + decision.until)]

    def _abort(self, ledger: OpenLedger) -> list[Command]:
        """All who took part are gone or sent nothing of use: try the same version again with whoever is there."""
        self._open, self._ready = None, ledger.version
        settled: list[Command] = [Settle(w, ledger.version, fate, s) for w, fate, s in ledger.ended()]
        return settled + (self._open_round(ledger.version) if self._members else [])

    def _elapsed(self, ledger: OpenLedger) -> Seconds:
        """Seconds since the opening; at a wake-up, no less than was asked for, however the clock rounds."""
        elapsed, until = self.now - ledger.opened, self._wait.until
        woken = until is not None and self.now >= ledger.opened + until
        return max(elapsed, until) if woken and until is not None else elapsed

    def _close(self, ledger: OpenLedger) -> Command:
        self._open, self._closed = None, self.now
        outstanding = [w for w in ledger.position if (m := self._members.get(w)) and m.version is not None]
        keep = set(outstanding) if self.late_finish or self.acceptance.keeps_work else self._finishers(ledger)
        abandon = tuple(
            w for w in outstanding if w not in keep and self._members[w].version == ledger.version
        )
        record = ledger.record(self.now, self.overhead, pending=keep)
        for worker in abandon:
            self._members[worker].version = None
        reports = self._late_reports()
        self.state = self.policy.learn(self.state, self._plan, record, reports)
        return CloseRound(ledger.version, tuple(ledger.accepted), abandon, record)

    def _finishers(self, ledger: OpenLedger) -> set[WorkerId]:
        chosen: IntArray = self.policy.finishers(self.state, ledger.record(self.now, self.overhead, set()))
        return set(chosen.tolist())

    def _late_reports(self) -> tuple[RunTimes, ...]:
        reports, self._reports = self._reports, {}
        return (_run_times(reports),) if reports else ()


def _run_times(batch: dict[WorkerId, tuple[int, Seconds, bool]]) -> RunTimes:
    ids = sorted(batch)
    return RunTimes(
        workers=np.array(ids, dtype=np.int64),
        seconds=np.array([batch[w][1] for w in ids], dtype=np.float64),
        observed=np.array([batch[w][2] for w in ids], dtype=np.bool_),
        nodes=np.array([batch[w][0] for w in ids], dtype=np.int64),
        late=True,
    )


__all__ = ["Accepted", "Member", "Rounds"]
