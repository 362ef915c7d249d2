"""Rounds as a state machine. Events in, commands out; no clock, no socket, no thread, no file.

    Applied ─▶ OpenRound ─▶ Arrived | Left | Tick … ─▶ CloseRound ─▶ (the engine reduces and applies) ─▶ Applied
                   └─▶ think(), while the workers compute

Workers do not wait for the policy to learn, forecast or plan: an opening and a close are answered at once,
and `think` does the rest when the engine has carried them out. An engine that never calls it gets the same
rounds, only later.

Rules that hold whatever the engine: a round closes exactly once, with at least one gradient; the accepted set is
fixed at the close; arrivals of one instant are counted together, so a round that closes at that instant takes all of
them and its count may exceed the one that the rule waited for (`Acceptance.is_sequential` names the exception);
distinct workers are counted unless the acceptance says otherwise; every gradient has one fate; a message about work
the machine does not know of (a duplicate, a worker it expelled) changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tailcut.acceptance import SYNCHRONOUS, Acceptance
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
)
from tailcut.ledger import OpenLedger
from tailcut.members import Member, Members
from tailcut.policy import Decider, PolicyState
from tailcut.thinker import Thinker
from tailcut.types import Close, Fate, Seconds, Wait, WorkerId
from tailcut.versions import Versions


@dataclass(slots=True)
class Rounds:
    """All rounds of one run, one at a time.

    Attributes:
        policy: decides when to close.
        acceptance: rule for which gradients count.
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

    now: Seconds = field(default=-np.inf, init=False)
    _thinker: Thinker = field(init=False)
    _members: Members = field(default_factory=Members, init=False)
    _open: OpenLedger | None = field(default=None, init=False)
    _versions: Versions = field(default_factory=Versions, init=False)

    def __post_init__(self) -> None:
        self._thinker = Thinker(self.policy)

    @property
    def state(self) -> PolicyState:
        """The policy's state after it has learned every closed round. Set it before a round opens."""
        return self._thinker.state

    @state.setter
    def state(self, state: PolicyState) -> None:
        self._thinker.state = state

    def handle(self, event: Event) -> list[Command]:
        """Take one event; say what to do. Events come in the order of their times.

        Workers that arrive at one and the same instant are told as one event, `Arrivals`: of two events with the same
        time, the first may close the round on the second.
        """
        if isinstance(event, Arrivals) and self.acceptance.is_sequential:
            return [command for arrival in event.arrivals for command in self.handle(arrival)]
        if not event.now >= self.now:
            raise ValueError(
                f"Events must come in the order of time: got {event} at {event.now} after {self.now}. "
                "Deliver the older event first."
            )
        # The decision at the opening comes before the next event, also if the engine did not call `think`.
        commands = self.think()
        self.now = event.now
        match event:
            case Arrived():
                commands += self._arrived([event])
            case Arrivals():
                # Sorted, so that the record does not depend on the order of delivery.
                commands += self._arrived(sorted(event.arrivals, key=lambda arrival: arrival.worker))
            case Tick():
                commands += self._consult() if self._due(tick=True) else []
            case Applied():
                commands += self._applied(event)
            case Joined():
                commands += self._joined(event)
            case Left():
                commands += self._left(event)
        return commands

    def think(self) -> list[Command]:
        """Learn the last round, forecast and plan the open one, and say what its opening decides.

        The engine should call it when it has carried out the commands of `handle`. It does nothing unless a
        round has just opened, since learning can wait until then. Without such a call the next `handle` calls
        it first.
        """
        return [] if self._open is None or self._open.wait is not None else self._consult()

    # -- membership ---------------------------------------------------------------------------------------------

    def _joined(self, event: Joined) -> list[Command]:
        # A worker that joins again without having left was restarted unnoticed: what it computed is lost.
        commands = self._left(Left(event.now, event.worker)) if event.worker in self._members else []
        self._members.join(event.worker, event.node)
        if self._open is None and self._versions.ready is not None:
            commands += self._open_round(self._versions.ready)
        return commands

    def _left(self, event: Left) -> list[Command]:
        ledger = self._open
        version = None if ledger is None else ledger.version
        member, settled = self._members.leave(event.worker, event.now, version)
        commands: list[Command] = list(settled)
        if member is not None and ledger is not None and event.worker in ledger.position:
            current = member.version == ledger.version
            ledger.lose(event.worker, event.now, member.since if current else None)
            commands += self._consult()
        return commands

    # -- opening ------------------------------------------------------------------------------------------------

    def _applied(self, event: Applied) -> list[Command]:
        if self._open is not None or not self._versions.applied(event.version):
            return []
        self.overhead = self._versions.measured(self.overhead, event.now)
        if event.measured is not None:
            self._thinker.measured(event.measured)
        return self._open_round(event.version) if self._members else []

    def _open_round(self, version: int) -> list[Command]:
        self._versions.ready = None
        roster = self._members.roster(self.now)
        ledger = self._open = OpenLedger(version, self.now, roster, counts_workers=not self.acceptance.refill)
        ledger.deadline, ledger.welcome = self._thinker.open(roster, self.overhead, self.late_finish)
        # Arrivals since the last close: this round may want them, otherwise they are late.
        held = [(event, self._members[event.worker]) for event in self._members.take_held()]
        settled = [command for event, member in held for command in self._take(event, member)]
        free = tuple(w for w in self._members.free() if self.acceptance.refill or not ledger.is_in(w))
        self._start(ledger, free)
        again = self._abort(ledger) if ledger.empty else []
        return [OpenRound(version, free, ledger.deadline), *settled, *again]

    def _start(self, ledger: OpenLedger, workers: Sequence[WorkerId]) -> None:
        self._members.start(workers, ledger.version, self.now)
        ledger.started(workers, self.now)

    # -- arrivals -----------------------------------------------------------------------------------------------

    def _arrived(self, arrivals: Iterable[Arrived]) -> list[Command]:
        """Take all arrivals of one instant, then ask the rule once."""
        came = [(event, member) for event in arrivals if (member := self._finished(event)) is not None]
        ledger = self._open
        if ledger is None:
            for event, _ in came:
                self._members.hold(event)
            return []
        if not came:
            return []
        commands = [command for event, member in came for command in self._take(event, member)]
        # After an unusable gradient the rule must decide anew: fewer gradients will come than it expected.
        if self._due(tick=False) or not all(event.finite for event, _ in came):
            commands += self._consult()
        # A worker that is not in this round yet, or may be in it more than once, starts on the newest
        # parameters. If its arrival closed the round, those are not out yet.
        if self._open is ledger:
            workers = [event.worker for event, _ in came]
            commands += self._go_on(
                ledger, [w for w in workers if self.acceptance.refill or not ledger.is_in(w)]
            )
        return commands

    def _finished(self, event: Arrived) -> Member | None:
        """Return the worker that arrives, free from now on; None if this is not what it works on."""
        member = self._members.get(event.worker)
        if member is None or member.version != event.version:
            return None
        member.version = None
        return member

    def _go_on(self, ledger: OpenLedger, workers: Sequence[WorkerId]) -> list[Command]:
        """Start workers that come free in mid-round; if it is too late, they sit out until the next one."""
        if not workers:  # The usual case.
            return []
        elapsed = self.now - ledger.opened
        idle = [worker for worker in workers if self._sits_out(ledger, worker, elapsed)]
        for worker in idle:
            ledger.sit_out(worker)
        commands = self._consult() if idle else []
        # The rule is asked first: if the round closes now, no worker has to begin.
        begin = [worker for worker in workers if worker not in idle] if self._open is ledger else []
        self._start(ledger, begin)
        return commands + [StartWork(worker, ledger.version, ledger.deadline) for worker in begin]

    def _sits_out(self, ledger: OpenLedger, worker: WorkerId, elapsed: Seconds) -> bool:
        if worker not in ledger.position or self.acceptance.keeps_work:
            return False
        return not self._thinker.worth_starting(ledger.position[worker], elapsed)

    def _take(self, event: Arrived, member: Member) -> list[Command]:
        """Count the gradient in the open round if it may be; one of an older version is settled either way."""
        assert self._open is not None
        staleness = self._open.version - event.version
        if not self._open.may_take(event, self.acceptance.admits(staleness)):
            return [self._members.settle(event, member, Fate.LATE)]
        self._open.take(event, staleness)
        if staleness == 0:
            return []
        return [self._members.settle(event, member, Fate.USED if event.finite else Fate.REJECTED)]

    # -- closing ------------------------------------------------------------------------------------------------

    def _due(self, tick: bool) -> bool:
        return self._open is not None and self._open.due(self.now, tick)

    def _consult(self) -> list[Command]:
        ledger = self._open
        assert ledger is not None
        if ledger.empty:
            return self._abort(ledger)
        if ledger.complete:
            return [self._close(ledger)]
        decision = self._thinker.decide(ledger.progress(ledger.elapsed(self.now)))
        if isinstance(decision, Close):
            if ledger.count:
                return [self._close(ledger)]
            decision = Wait(count=1)
        ledger.wait = decision
        return [] if decision.until is None else [WakeAt(ledger.opened + decision.until)]

    def _abort(self, ledger: OpenLedger) -> list[Command]:
        """Open the version again with the workers present: its round can get no usable gradient."""
        self._open, self._versions.ready = None, ledger.version
        settled: list[Command] = [Settle(w, ledger.version, fate, s) for w, fate, s in ledger.ended()]
        return settled + (self._open_round(ledger.version) if self._members else [])

    def _close(self, ledger: OpenLedger) -> Command:
        self._open = None
        self._versions.closed(self.now)
        outstanding = [w for w in ledger.position if self._members.at_work(w)]
        keep = set(outstanding)
        if not (self.late_finish or self.acceptance.keeps_work):
            keep = set(self._thinker.finishers(ledger.record(self.now, self.overhead, set())).tolist())
        cut = [w for w in outstanding if w not in keep and self._members[w].version == ledger.version]
        seen = ledger.record(self.now, self.overhead, pending=keep)
        record = replace(seen, weights=self._thinker.weights())
        for worker in cut:
            self._members[worker].version = None
        self._thinker.closed(record, self._members.take_reports())
        return CloseRound(ledger.version, tuple(ledger.accepted), tuple(cut), record)
