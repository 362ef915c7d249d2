"""The controller without socket or clock: messages of workers in, messages to workers out.

    roll call ─▶ New ─▶ Arrived … ─▶ Close ─▶ Applied ─▶ (Go) Arrived … ─▶ Over
                  ▲                    └─▶ State, or a lost connection
                  └────────────────────────────┘

It translates between the messages of the live engine and the events and commands of `tailcut.round`, and decides
nothing that the rounds decide. What nobody can mend is told to all as `Refused`, with a sentence, and ends the run.

When a worker dies, or a reduction does not end, a new epoch begins: those who go on continue from the newest version
that one of them has. Until it is known which that is, nothing else is decided.

A run ends in two steps. `Over` to a worker that is still in its loop says: leave it, at that version. Who has said
`Bye` gets `Free` when everybody who is there has the updates that it holds, at the latest when all have left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from tailcut import events
from tailcut.engines.live.controller.change import Change, gone
from tailcut.engines.live.controller.checks import check_parameters, impossible
from tailcut.engines.live.controller.orders import Answers, Orders, lost
from tailcut.engines.live.controller.places import Doing, Places
from tailcut.engines.live.controller.roll_call import RollCall
from tailcut.engines.live.controller.scale import Scale
from tailcut.engines.live.controller.silence import silent, standstill, unheard
from tailcut.engines.live.messages import (
    Applied,
    Arrived,
    Bye,
    Free,
    FromWorker,
    Hello,
    Meet,
    New,
    Over,
    Refused,
    Scatter,
    State,
    Stop,
)
from tailcut.learning.rates import Fixed, RateRule
from tailcut.round import Rounds
from tailcut.types import RoundRecord, Seconds, WorkerId

SENDER: WorkerId = -1
"""Stands for whoever sent the message that is answered, whatever place it claims."""


def ignore(_: object) -> None:
    """Take no notice."""


@final
class Hub:
    """The controller of one run.

    Args:
        rounds: the state machine, with its policy; no round of it is open yet.
        workers: how many take part.
        term: how often a controller was started for this run.
        rate: learning-rate rule; workers are told a multiple of their own rate. By default always 1.
        total: version at which the run ends; None for when all workers have left.
        min_workers: the run ends when fewer are left.
        records: is told every closed round, in `think`, when nobody waits for it.
        settled: is told what became of gradients that were pending at their close, likewise.

    Attributes:
        version: of the newest parameters.
        places: what every worker does.
        why: the reason why the run failed, as a sentence; None as long as it did not.
        ignored: how many messages were of another term or epoch, or came from one who has left.
    """

    def __init__(
        self,
        rounds: Rounds,
        workers: int,
        *,
        term: int = 1,
        rate: RateRule | None = None,
        total: int | None = None,
        min_workers: int = 1,
        records: Callable[[RoundRecord], None] = ignore,
        settled: Callable[[events.Settle], None] = ignore,
    ) -> None:
        check_parameters(rounds, workers, total, min_workers, rate or Fixed())
        self.version, self.ignored = 0, 0
        self.why: str | None = None
        self.places = Places()
        self._roll = RollCall(workers, term)
        self._orders = Orders(rounds, self.places, Scale(rate or Fixed(), workers), term)
        self._total, self._min = total, min_workers
        self._records, self._settled = records, settled
        self._all_left = False
        self._new: New
        self._began: Seconds | None = None
        self._epochs = Change(self.places)

    @property
    def term(self) -> int:
        """How often a controller was started for this run."""
        return self._orders.term

    @property
    def epoch(self) -> int:
        """Of the membership; 0 until the run has begun."""
        return self._orders.epoch

    @property
    def wake_at(self) -> Seconds | None:
        """The clock's seconds at which to call `tick`; None for never."""
        return self._orders.wake_at if self._epochs.until is None else self._epochs.until

    @property
    def over(self) -> bool:
        """Whether nobody has to be told anything any more: all have left, or have been told why the run failed."""
        return self._all_left or (self.why is not None and self._roll.complete)

    # -- in -----------------------------------------------------------------------------------------------------

    def handle(self, message: FromWorker, now: Seconds) -> Answers:
        """Take one message; say what to answer. One of another term or epoch changes nothing."""
        now = self._clock(now)
        if isinstance(message, Hello):
            return self._hello(message, now)
        if message.worker in self.places and self.places[message.worker].lost:
            return [(SENDER, self._refused(gone(message.worker)))]
        if not self._is_current(message):
            return self._ignore()
        if message.worker not in self.places:
            return [(SENDER, self._refused(f"Worker {message.worker} has not said Hello to this run."))]
        place = self.places[message.worker]
        if place.doing is Doing.LEFT:
            return self._ignore()
        place.heard = now
        if self._epochs.until is not None:
            return self._freed(self._heard_in_change(message, now))
        match message:
            case Meet():
                return self._meet(message)
            case Arrived():
                return self._freed(self._arrived(message, now))
            case Applied():
                return self._freed(self._applied(message, now))
            case Bye():
                return self._freed(self._bye(message, now))
            case State():
                place.broke_off(message.version)
                return self._freed([] if self._orders.ended else self._change(now))

    def lost(self, worker: WorkerId, now: Seconds) -> Answers:
        """The process of a worker has ended, without a word; the others go on."""
        now = self._clock(now)
        if self.epoch == 0 or self.why is not None or worker not in self.places.there:
            return []
        self.places.lose(worker)
        if not self.places.there:
            self._all_left = self._orders.ended = True
        return self._freed([] if self._orders.ended else self._change(now))

    def tick(self, now: Seconds) -> Answers:
        """Time has come to `now`."""
        now = self._clock(now)
        if self._epochs.until is not None:
            return self._freed(self._changed(now))
        return self._sound(self._orders.tick(now))

    def think(self) -> Answers:
        """Do what nobody waits for: learn, forecast, tell of closed rounds. To be called when all answers are sent."""
        answers = self._sound(self._orders.think())
        for one in self._orders.take_untold():
            if isinstance(one, RoundRecord):
                self._records(one)
            else:
                self._settled(one)
        return answers

    def fail(self, why: str) -> Answers:
        """End the run, once; `why` is a sentence for users."""
        if self.why is not None:
            return []
        self.why, self._orders.ended = why, True
        refused = self._refused(self.why)
        return self._freed([(worker, refused) for worker in self.places.there])

    # -- silence ------------------------------------------------------------------------------------------------

    def silence(self, now: Seconds, max_wait: Seconds) -> dict[WorkerId, str]:
        """A sentence on each worker that should have said something in the last `max_wait` seconds."""
        if self.epoch > 0:
            return silent(self.places, now, max_wait)
        passed = now - (now if self._began is None else self._began)
        return unheard(self._roll.missing, passed) if passed >= max_wait else {}

    def standstill(self, now: Seconds, max_wait: Seconds) -> str | None:
        """Why nothing moves, where somebody waits and nobody has said anything for `max_wait` seconds; or None."""
        waiting = self.places.waiting
        awaited = bool(waiting) or self.epoch == 0 or self._orders.ended or self.places.lingering
        quiet = now - max(self.places.last_heard, now if self._began is None else self._began)
        if self.over or not awaited or quiet < max_wait:
            return None
        return standstill(quiet, waiting, list(self.silence(now, max_wait).values()), max_wait)

    # -- messages, one by one -----------------------------------------------------------------------------------

    def _hello(self, hello: Hello, now: Seconds) -> Answers:
        no_place = self._roll.no_place(hello, self.places.left)
        if no_place is not None:
            return [(SENDER, self._refused(no_place))]
        if self.epoch > 0:
            # The same process says it twice: perhaps over a new connection, and without having got its answer.
            return [(hello.worker, self._new)] if self.places[hello.worker].is_fresh else self._ignore()
        self._roll.add(hello)
        self.places.take(hello, now)
        if self.why is not None:
            return [(hello.worker, self._refused(self.why))]
        differs = self._roll.other_number(hello) or (self._roll.difference() if self._roll.complete else None)
        if differs is not None:
            return self.fail(differs)
        return self._begin(now) if self._roll.complete else []

    def _begin(self, now: Seconds) -> Answers:
        """Everybody is there and alike: the first epoch."""
        newest = self._roll.newest()
        return self._install(newest.version, newest.worker, now)

    def _install(self, base: int, holder: WorkerId, now: Seconds) -> Answers:
        """A new epoch of those who are there, from `base`."""
        self._orders.renew(base)
        self.version = base
        hellos = [self.places[worker].hello for worker in self.places.there]
        members, addresses = zip(*((hello.worker, hello.address) for hello in hellos), strict=True)
        self._new = New(self.term, self.epoch, members, addresses, base, holder)
        self._orders.enlist({hello.worker: hello.node for hello in hellos}, base, now)
        return [*((worker, self._new) for worker in members), *self._go_on(now)]

    # -- from one epoch to the next -----------------------------------------------------------------------------

    def _change(self, now: Seconds) -> Answers:
        """This epoch is over: find out who goes on, from which version."""
        self._epochs.begin(now)
        return self._changed(now)

    def _heard_in_change(self, message: Meet | Arrived | Applied | Bye | State, now: Seconds) -> Answers:
        if isinstance(message, Meet):
            return self._meet(message)
        if isinstance(message, Applied):
            drift = self._orders.reports.drift(message)
            if drift is not None:
                return self.fail(drift)
            self._orders.reports.take(message)
            self.version = max(self.version, message.version)
        self._epochs.hear(message)
        return self._changed(now)

    def _changed(self, now: Seconds) -> Answers:
        """The new epoch, as soon as it is known."""
        found = self._epochs.settled(self.version, now)
        if found is None:
            stop = Stop(self.term, self.epoch)
            return [(worker, stop) for worker in self._epochs.to_ask(self.version)]
        answers: Answers = [(worker, self._refused(gone(worker))) for worker in found.expelled]
        if found.holder is None:
            self._all_left = self._orders.ended = True
            return answers
        if len(self.places.there) < self._min:
            self.version = found.base
            return [*answers, *self._end()]
        return [*answers, *self._install(found.base, found.holder, now)]

    def _meet(self, message: Meet) -> Answers:
        if message.every < 1:
            return [(SENDER, self._refused(f"Workers can meet every 1, 2, … versions, not {message.every}."))]
        self._orders.meetings.ask(message.every)
        return []

    def _arrived(self, message: Arrived, now: Seconds) -> Answers:
        why = impossible(message)
        if why is not None:
            return [(SENDER, self._refused(why))]
        return self._sound(self._orders.arrived(message, now))

    def _applied(self, message: Applied, now: Seconds) -> Answers:
        drift = self._orders.reports.drift(message)
        if drift is not None:
            return self.fail(drift)
        self.places[message.worker].made(message.version)
        if not self._orders.reports.take(message):
            return []
        self._orders.made()
        self.version = message.version
        return self._go_on(now, message.scatter)

    def _go_on(self, now: Seconds, scatter: Scatter | None = None) -> Answers:
        """Parameters are out: the next round opens, unless the run is over."""
        if self._total is not None and self.version >= self._total:
            return self._end()
        measured = self._orders.scale.measured(scatter)
        return self._sound(self._orders.tell(events.Applied(now, self.version, measured)))

    def _bye(self, message: Bye, now: Seconds) -> Answers:
        self.places.leave(message.worker, message.version)
        if self.epoch == 0:
            return self.fail(f"Worker {message.worker} left before the run began. Start all workers again.")
        answers = self._orders.tell(events.Left(now, message.worker))
        never_made = self._orders.reports.leave(message.worker)
        if not self.places.there:
            self._all_left = self._orders.ended = True
            return []
        if never_made is not None:
            return self.fail(lost(never_made))
        few = len(self.places.there) < self._min and not self._orders.ended
        return self._sound([*answers, *self._end()] if few else answers)

    def _end(self) -> Answers:
        """The run is over; those who are there are told."""
        self._orders.ended = True
        over = Over(self.term, self.epoch, self.version)
        return [(worker, over) for worker in self.places.there]

    def _freed(self, answers: Answers) -> Answers:
        """The answers, and who is not needed any more."""
        free = Free(self.term, self.epoch)
        gone = self.places.release(everybody=self.why is not None)
        return [*answers, *((worker, free) for worker in gone)]

    # -- small things -------------------------------------------------------------------------------------------

    def _sound(self, answers: Answers) -> Answers:
        """The answers, unless the rounds cannot go on."""
        return answers if self._orders.why is None else self.fail(self._orders.why)

    def _ignore(self) -> Answers:
        self.ignored += 1
        return []

    def _clock(self, now: Seconds) -> Seconds:
        """Time never runs backwards."""
        self._began = now if self._began is None else self._began
        return max(now, self._orders.now)

    def _is_current(self, message: Meet | Arrived | Applied | Bye | State) -> bool:
        if isinstance(message, Bye):
            # Leaving is true in whatever epoch it was said.
            return message.term <= self.term and message.epoch <= self.epoch
        return (message.term, message.epoch) == (self.term, self.epoch)

    def _refused(self, why: str) -> Refused:
        return Refused(self.term, self.epoch, why)
