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
"""Stands for whoever sent the message that is answered, whatever place it claims."""
Answers: TypeAlias = list[tuple[WorkerId, FromController]]
"""To whom, and what; in the order in which they are to be sent."""
SAME: Seconds = 1e-9
"""Closer than this two clocks cannot be read."""


@final
class Orders:
    """The state machine of the rounds, translated.

    Args:
        rounds: the state machine.
        places: what the workers do; kept up to date here.
        scale: of the learning rate.
        term: of the controller.

    Attributes:
        epoch: of the membership.
        wake_at: the clock's seconds at which the rounds want a tick; None for never.
        why: what went wrong with the rounds, as a sentence; None as long as nothing did.
        ended: no round opens or closes any more.
        reports: of updates that are being made.
        agreement: of the workers on the options of the optimizer.
        meetings: versions at which the rounds wait for all.
        scale: of the learning rate.
        closed_in: term and epoch of the last Close: nothing was made since but what it was for.
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
        """What the policy has learnt."""
        return self._rounds.state

    def enlist(self, nodes: dict[WorkerId, int], version: int, now: Seconds) -> None:
        """These workers, each on a node, take part and compute at `version`, whose round is to be opened next."""
        for worker, node in nodes.items():
            self._places[worker].now_does(Doing.COMPUTES, version)
            self._rounds.handle(events.Joined(now, worker, node))
        self._by_themselves = frozenset(nodes)

    def renew(self, base: int) -> None:
        """The rounds begin anew at `base`, in a new epoch, with all that the policy has learnt.

        A closed round that nobody has completed was none: its version is open again.
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
        """The update of the closed round is made: it can be told of."""
        self._making = None

    def tell(self, event: events.Event) -> Answers:
        """What an event leads to."""
        return self._carry_out(self._rounds.handle(event))

    def arrived(self, message: Arrived, now: Seconds) -> Answers:
        """What a worker with its gradient leads to."""
        self.why = self.why or self.agreement.difference(message)
        if self.why is not None:
            return []
        if self._places.arrive(message.worker, message.version, now):
            self.scale.arrived(message)
        what = (message.worker, message.version, self._run_time(message, now), message.share, message.finite)
        return self.tell(events.Arrived(now, *what))

    def _run_time(self, message: Arrived, now: Seconds) -> Seconds:
        """As the rounds see it: catching up and the way of the messages belong to it, or who needs them would be cut.

        Never less than the worker's own seconds, though: a busy controller takes messages for earlier than they were.
        Nothing is learnt from a worker whose own clock tells nonsense.
        """
        own, began = message.seconds, self._began.get(message.worker)
        if began is None or not is_run_time(own) or now - began < own + SAME:
            return own
        return now - began

    def tick(self, now: Seconds) -> Answers:
        """Time has come to `now`."""
        if self.wake_at is None or now < self.wake_at:
            return []
        self.wake_at = None
        return self.tell(events.Tick(now))

    def think(self) -> Answers:
        """What the policy says when it has thought about the open round."""
        return self._carry_out(self._rounds.think())

    def take_untold(self) -> list[RoundRecord | events.Settle]:
        """Rounds whose updates were made and gradients settled since the last time."""
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
                    # Whoever waits has been told that the run is over.
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
        """Who made the update is there by itself; the others are sent for."""
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
        # Who left after its arrival took its gradient along. Sorted: the ring's order must not be the arrivals'.
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
        # Everybody else waits for those who reduce, so these are told first.
        rest = [worker for worker in self._places.there if worker not in self._by_themselves]
        return [(worker, close) for worker in (*accepted, *rest)]


def lost(version: int) -> str:
    """Why a run cannot go on whose next version nobody can make."""
    return (
        f"Version {version} was never made: all workers whose gradients were accepted for it have left. "
        "Resume from a checkpoint."
    )


def _stale(command: events.CloseRound) -> str | None:
    """Why a round of live training that took older gradients cannot be carried out; None if it took none."""
    for gradient in command.accepted:
        if gradient.version != command.version:
            return (
                f"The policy took a gradient of version {gradient.version}, of worker {gradient.worker}, into round "
                f"{command.version}, but live training takes none that are older. Choose another policy."
            )
    return None
