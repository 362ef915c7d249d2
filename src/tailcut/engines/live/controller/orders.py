"""The rounds of a run and what their commands mean to workers: events in, messages out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, final

from tailcut import events
from tailcut.engines.live.controller.agreement import Agreement
from tailcut.engines.live.controller.meetings import Meetings, Meets
from tailcut.engines.live.controller.places import Doing, Places
from tailcut.engines.live.controller.reports import Reports
from tailcut.engines.live.controller.scale import Scale
from tailcut.engines.live.messages import Arrived, Close, FromController, Go, Limit
from tailcut.engines.tries import Tries
from tailcut.ledger import is_run_time
from tailcut.policy import PolicyState
from tailcut.round import Rounds
from tailcut.types import RoundRecord, Seconds, WorkerId

SENDER: WorkerId = -1
"""Stands for the sender of the message that is answered, whatever rank it claims."""
Answers: TypeAlias = list[tuple[WorkerId, FromController]]
"""Receivers and messages, in the order in which they are to be sent."""
SAME: Seconds = 1e-9
"""Difference in seconds below which two readings of clocks count as equal."""


@final
class Orders:
    """Translates between the state machine of the rounds and messages to workers.

    Args:
        rounds: the state machine.
        places: the activity of every worker; kept up to date here.
        scale: factor of the learning rate.
        term: term of the controller.

    Attributes:
        epoch: number of the epoch of the membership.
        wake_at: the clock's seconds at which the rounds want a tick; None for never.
        why: what went wrong with the rounds, as a sentence; None as long as nothing did.
        ended: whether no round opens or closes any more.
        reports: reports of updates that are being made.
        agreement: options of the optimizer that workers have arrived with.
        meetings: versions at which the rounds wait for all.
        scale: factor of the learning rate.
        closed_in: term and epoch of the last Close; no update but that of its round was made since.
    """

    def __init__(self, rounds: Rounds, places: Places, scale: Scale, term: int) -> None:
        self.term, self.epoch = term, 0
        self.wake_at: Seconds | None = None
        self.why: str | None = None
        self.ended = False
        self.reports, self.agreement = Reports(), Agreement()
        self.meetings = Meetings()
        self._rounds = Rounds(
            Meets(rounds.policy, self.meetings), rounds.acceptance, rounds.late_finish, rounds.overhead
        )
        self._rounds.state = rounds.state
        self.scale, self._places, self._tries = scale, places, Tries()
        self._by_themselves: frozenset[WorkerId] = frozenset()
        self._untold: list[RoundRecord | events.Settle] = []
        self._began: dict[WorkerId, Seconds] = {}
        self._making: RoundRecord | None = None
        self.closed_in = (0, 0)

    @property
    def now(self) -> Seconds:
        """The time of the last event."""
        return self._rounds.now

    @property
    def learnt(self) -> PolicyState:
        """The state that the policy has learned."""
        return self._rounds.state

    def enlist(self, nodes: dict[WorkerId, int], version: int, now: Seconds) -> None:
        """Let these workers, each on a node, take part and compute at `version`, whose round opens next."""
        for worker, node in nodes.items():
            self._places[worker].now_does(Doing.COMPUTES, version)
            self._rounds.handle(events.Joined(now, worker, node))
        self._by_themselves = frozenset(nodes)

    def renew(self, base: int) -> None:
        """Begin the rounds anew at `base`, in a new epoch, with all that the policy has learned.

        A closed round that no worker has completed does not count: its version is open again.
        """
        old = self._rounds
        self._rounds = Rounds(old.policy, old.acceptance, old.late_finish, old.overhead)
        self._rounds.state = old.state
        if self._making is not None and self._making.version >= base:
            self._untold = [each for each in self._untold if each is not self._making]
        self.wake_at, self._making, self.reports, self.agreement = None, None, Reports(), Agreement()
        self._began.clear()
        self._tries = Tries()
        self.epoch += 1

    def made(self) -> None:
        """Note that the update of the closed round is made, so that the round can be recorded."""
        self._making = None

    def tell(self, event: events.Event) -> Answers:
        """Pass an event to the rounds; return the messages that follow."""
        return self._carry_out(self._rounds.handle(event))

    def arrived(self, message: Arrived, now: Seconds) -> Answers:
        """Handle the arrival of a worker with its gradient; return the messages that follow."""
        self.why = self.why or self.agreement.difference(message)
        if self.why is not None:
            return []
        if self._places.arrive(message.worker, message.version, now):
            self.scale.arrived(message)
        what = (message.worker, message.version, self._run_time(message, now), message.share, message.finite)
        return self.tell(events.Arrived(now, *what))

    def _run_time(self, message: Arrived, now: Seconds) -> Seconds:
        """Return the run time by the controller's clock, with catching up and message delays.

        Without these a worker that needs them would be cut. It is never less than the worker's own seconds: a
        busy controller dates messages too early. Nothing is learned if the worker's clock tells nonsense.
        """
        own, began = message.seconds, self._began.get(message.worker)
        if began is None or not is_run_time(own) or now - began < own + SAME:
            return own
        return now - began

    def tick(self, now: Seconds) -> Answers:
        """Give the rounds a tick if it is due at `now`."""
        if self.wake_at is None or now < self.wake_at:
            return []
        self.wake_at = None
        return self.tell(events.Tick(now))

    def think(self) -> Answers:
        """Let the policy think about the open round; return the messages that follow."""
        return self._carry_out(self._rounds.think())

    def take_untold(self) -> list[RoundRecord | events.Settle]:
        """Return and clear the rounds whose updates are made, and the settled gradients, in order."""
        unmade = (n for n, each in enumerate(self._untold) if each is self._making)
        until = next(unmade, len(self._untold))
        untold, self._untold = self._untold[:until], self._untold[until:]
        return untold

    def _carry_out(self, commands: Iterable[events.Command]) -> Answers:
        answers: Answers = []
        for command in commands:
            match command:
                case events.Settle():
                    self._untold.append(command)
                case _ if self.ended or self.why:
                    # Workers that wait have been told that the run is over.
                    pass
                case events.WakeAt():
                    self.wake_at = command.now
                case events.OpenRound():
                    answers += self._opened(command)
                case events.StartWork():
                    self._began[command.worker] = self.now
                    answers.append(self._go(command.worker, command.version, command.deadline))
                case events.CloseRound():
                    answers += self._closed(command)
        return answers

    def _opened(self, command: events.OpenRound) -> Answers:
        """Open a round: workers in the last update continue on their own, the rest get `Go`."""
        self.wake_at = None
        self.agreement.opened(command.version)
        diverged = self._tries.opened(command.version)
        if diverged is not None:
            self.why = diverged
            return []
        self.meetings.version = command.version
        there, self._by_themselves = self._by_themselves, frozenset()
        self._began |= dict.fromkeys(command.workers, self.now)
        limit = command.deadline
        answers = [self._go(w, command.version, limit) for w in command.workers if w not in there]
        if limit is not None:
            told = Limit(self.term, self.epoch, command.version, limit)
            answers += [(worker, told) for worker in command.workers if worker in there]
        return answers

    def _go(self, worker: WorkerId, version: int, limit: Seconds | None) -> tuple[WorkerId, FromController]:
        place = self._places[worker]
        place.now_does(Doing.COMPUTES, version)
        late, place.late = place.late, 0.0
        return worker, Go(self.term, self.epoch, version, limit, late)

    def _closed(self, command: events.CloseRound) -> Answers:
        self.wake_at = None
        # A worker that left after its arrival took its gradient along. Sorted: the ring must not depend on
        # the order of arrivals.
        came = (gradient.worker for gradient in command.accepted)
        accepted = tuple(sorted(worker for worker in came if self._places[worker].doing is not Doing.LEFT))
        self.why = _stale(command) or (None if accepted else lost(command.version + 1))
        if self.why is not None:
            return []
        self._making, self.closed_in = command.record, (self.term, self.epoch)
        self._untold.append(command.record)
        self._by_themselves = frozenset(accepted)
        self.reports.expect(command.version + 1, accepted)
        self._places.closed_without(command.version, self.now)
        for worker in accepted:
            self._places[worker].now_does(Doing.REDUCES, command.version + 1)
        for worker in command.abandon:
            self._places[worker].now_does(Doing.DROPS, command.version)
        scale = self.scale.of(command.version, accepted)
        what = (command.version, accepted, scale, command.abandon, self._places.oldest)
        close = Close(self.term, self.epoch, *what)
        # All others wait for the workers that reduce, so these are told first.
        rest = [worker for worker in self._places.there if worker not in self._by_themselves]
        return [(worker, close) for worker in (*accepted, *rest)]


def lost(version: int) -> str:
    """Return why a run cannot go on whose next version no worker can make."""
    return (
        f"Version {version} was never made: all workers whose gradients were accepted for it have left. "
        "Resume from a checkpoint."
    )


def _stale(command: events.CloseRound) -> str | None:
    """Return why a round that took older gradients cannot be carried out live; None if it took none."""
    for gradient in command.accepted:
        if gradient.version != command.version:
            return (
                f"The policy took a gradient of version {gradient.version}, of worker {gradient.worker}, into round "
                f"{command.version}, but live training takes none that are older. Choose another policy."
            )
    return None
