"""The controller without socket or clock: messages of workers in, messages to workers out.

    roll call ─▶ New ─▶ Arrived … ─▶ Close ─▶ Applied ─▶ (Go) Arrived … ─▶ Over
                  ▲                    └─▶ State, or a lost connection
                  └────────────────────────────┘

It translates between the messages of the live engine and the events and commands of `tailcut.round`, and
decides nothing that the rounds decide. An error that cannot be repaired is sent to all workers as `Refused`,
with a sentence, and ends the run.

When a worker dies, or a reduction does not end, a new epoch begins: the remaining workers continue from the
newest version that one of them has. Until it is known which that is, nothing else is decided.

A run ends in two steps. `Over` to a worker that is still in its loop says: leave it, at that version. A
worker that has said `Bye` gets `Free` when all workers that are there have its updates, at the latest when
all have left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from tailcut import events
from tailcut.engines.live.controller.checks import MOST_MEETINGS, check_parameters, impossible, untimely
from tailcut.engines.live.controller.course import Course
from tailcut.engines.live.controller.entrance import Entrance
from tailcut.engines.live.controller.epochs import Epochs
from tailcut.engines.live.controller.orders import SENDER, Answers, Orders
from tailcut.engines.live.controller.places import Doing, Places
from tailcut.engines.live.controller.roll_call import RollCall
from tailcut.engines.live.controller.scale import Scale
from tailcut.engines.live.controller.silence import silent, standstill, unheard
from tailcut.engines.live.messages import (
    Again,
    Applied,
    Arrived,
    Bye,
    Free,
    FromWorker,
    Hello,
    Meet,
    Refused,
    State,
)
from tailcut.engines.records.standing import At
from tailcut.learning.rates import Fixed, RateRule
from tailcut.policy import PolicyState
from tailcut.round import Rounds
from tailcut.types import RoundRecord, Seconds, WorkerId


def ignore(_: object) -> None:
    """Do nothing."""


@final
class Hub:
    """The controller of one run.

    Args:
        rounds: the state machine, with its policy; no round of it is open yet.
        workers: number of workers that take part.
        term: number of controllers that were started for this run.
        rate: learning-rate rule; workers are told a multiple of their own rate. By default always 1.
        total: version at which the run ends; None for when all workers have left.
        min_workers: with fewer workers the run waits for lost ones, and ends if too many have left in order.
        follows_loss: whether the controller before this one had lost all workers that had a state.
        resumes: whether the workers keep checkpoints, and a replacement controller and killed workers are started: if
            all workers that have a state are lost, the run returns to the newest checkpoint. Otherwise it fails.
        records: is told every closed round, in `think`, when no worker waits for it.
        settled: is told the fate of gradients that were pending at their close, likewise.

    Attributes:
        places: the activity of every worker.
        why: the reason why the run failed, as a sentence; None as long as it did not.
        ignored: number of messages of another term or epoch, or of a worker that has left.
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
        follows_loss: bool = False,
        resumes: bool = False,
        records: Callable[[RoundRecord], None] = ignore,
        settled: Callable[[events.Settle], None] = ignore,
    ) -> None:
        check_parameters(rounds, workers, total, min_workers, rate or Fixed())
        self.ignored = 0
        self.why: str | None = None
        self.places = Places()
        self._roll = RollCall(workers, term, total, follows_loss and resumes)
        self._orders = Orders(rounds, self.places, Scale(rate or Fixed(), workers), term)
        self._course = Course(self._orders, self.places, total, workers, min_workers, resumes)
        self._records, self._settled = records, settled
        self._began: Seconds | None = None
        self._epochs = Epochs(self.places, self._orders, self._course)
        self._entrance = Entrance(
            self._roll, self.places, self._orders, self._course, self._epochs, follows_loss
        )

    @property
    def version(self) -> int:
        """The version of the newest parameters."""
        return self._course.version

    @property
    def deserted(self) -> bool:
        """Return whether no worker with a state is left before the end: a replacement controller follows."""
        return self._course.deserted

    @property
    def resumed_at(self) -> int | None:
        """The version of the checkpoint that the run returned to, 0 for its beginning; None if it did not."""
        return self._entrance.resumed_at

    @property
    def term(self) -> int:
        """The number of controllers that were started for this run."""
        return self._orders.term

    @property
    def epoch(self) -> int:
        """The number of the epoch of the membership; 0 until the run has begun."""
        return self._orders.epoch

    @property
    def has_begun(self) -> bool:
        """Return whether the run has begun: the roll call is over."""
        return self.epoch > 0

    @property
    def workers(self) -> list[At]:
        """The activity of each worker, for the record of the run."""
        return self.places.standing()

    @property
    def learnt(self) -> PolicyState:
        """The state that the policy has learned."""
        return self._orders.learnt

    @property
    def wake_at(self) -> Seconds | None:
        """The clock's seconds at which to call `tick`; None for never."""
        if self.epoch == 0:
            return self._entrance.ends
        return self._epochs.wake_at if self._epochs.is_over else self._orders.wake_at

    @property
    def too_few(self) -> str | None:
        """The sentence on how many workers a run waits for that has too few; None if it does not wait."""
        return self._course.thinness if self._epochs.is_over and self._course.is_thin else None

    @property
    def is_open(self) -> bool:
        """Return whether workers compute and arrive: the run is in an epoch, and neither over nor failed."""
        return self.has_begun and self.why is None and not (self._orders.ended or self._epochs.is_over)

    @property
    def over(self) -> bool:
        """Return whether no worker needs a message any more: all have left, or know why the run failed."""
        return self._course.all_left or (self.why is not None and (self._roll.complete or self.epoch > 0))

    # -- in -----------------------------------------------------------------------------------------------------

    def handle(self, message: FromWorker, now: Seconds) -> Answers:
        """Handle one message; return the answers. A message of another term or epoch changes nothing."""
        now = self._clock(now)
        if isinstance(message, Hello):
            return self._hello(message, now)
        place = self.places.get(message.worker)
        if place is not None and place.lost:
            return [(SENDER, Again(self.term, self.epoch))]
        if not self._is_current(message):
            return self._ignore()
        if place is None:
            return [(SENDER, self._refused(f"Worker {message.worker} has not said Hello to this run."))]
        if place.doing is Doing.LEFT:
            return self._ignore()
        place.heard = now
        if isinstance(message, Meet):
            return self._meet(message)
        why = untimely(message, self.version) if self.epoch > 0 else None
        if why is not None:
            return [(SENDER, self._refused(why))]
        if self._epochs.is_over:
            return self._freed(self._sound(self._epochs.hear(message, now)))
        match message:
            case Arrived():
                return self._freed(self._arrived(message, now))
            case Applied():
                return self._freed(self._sound(self._course.applied(message, now)))
            case Bye() if self.epoch == 0:
                self.places.leave(message.worker, message.version)
                why = f"Worker {message.worker} left before the run began. Start all workers again."
                return self._freed(self.fail(why))
            case Bye():
                return self._freed(self._sound(self._course.left(message, now)))
            case State():
                place.broke_off(message.version)
                answers = [] if self._orders.ended else self._epochs.end(now, is_broken=True)
                return self._freed(self._sound(answers))

    def lost(self, worker: WorkerId, now: Seconds) -> Answers:
        """Handle the loss of a worker, whose process has ended without `Bye`; the others go on."""
        now = self._clock(now)
        if self.why is not None or worker not in self.places or self.places[worker].free:
            return []
        if self.epoch == 0:
            self._entrance.lose(worker)
            return []
        was_there, reduced = worker in self.places.there, worker in self.places.reducing
        self.places.lose(worker)
        if not self.places.there:
            self._course.leave_nobody(vanished=True)
        elif self._orders.ended and self.places.best < self.version:
            # The last version was lost with the worker, and is made again.
            self._orders.ended, was_there = False, True
        is_over = self._orders.ended or not was_there
        answers = [] if is_over else self._epochs.end(now, is_broken=reduced)
        return self._freed(self._sound(answers))

    def tick(self, now: Seconds) -> Answers:
        """Do what is due at `now`."""
        now = self._clock(now)
        if self.epoch == 0:
            return self._sound(self._entrance.look(now))
        if self._epochs.is_over:
            return self._freed(self._sound(self._epochs.look(now)))
        return self._sound(self._orders.tick(now))

    def think(self) -> Answers:
        """Learn, forecast and record closed rounds, when all answers are sent: no worker waits for these."""
        # Between two epochs there is nothing to decide: no round of the old one may close any more.
        answers = self._sound([] if self._epochs.is_over else self._orders.think())
        for one in self._orders.take_untold():
            if isinstance(one, RoundRecord):
                self._records(one)
            else:
                self._settled(one)
        return answers

    def fail(self, why: str) -> Answers:
        """Let the run fail, once; `why` is a sentence for users."""
        if self.why is not None:
            return []
        self.why, self._orders.ended = why, True
        refused = self._refused(self.why)
        return self._freed([(worker, refused) for worker in self.places.there])

    # -- silence ------------------------------------------------------------------------------------------------

    def silence(self, now: Seconds, max_wait: Seconds) -> dict[WorkerId, str]:
        """Return a sentence on each worker that should have sent a message in the last `max_wait` seconds."""
        if self.too_few is not None:
            # The workers that are there wait for the others, whatever they did before.
            return {}
        if self.epoch > 0:
            return silent(self.places, now, max_wait)
        passed = now - (now if self._began is None else self._began)
        return unheard(self._roll.missing, passed) if passed >= max_wait else {}

    def standstill(self, now: Seconds, max_wait: Seconds) -> str | None:
        """Return why the run stands still, if a worker waits and all were silent for `max_wait` seconds."""
        waiting = self.places.waiting
        # A roll call with a time limit ends by itself.
        is_called = self.epoch == 0 and self._entrance.ends is None
        awaited = bool(waiting) or is_called or self._orders.ended or self.places.lingering
        awaited = awaited or self._epochs.is_over
        quiet = now - max(self.places.last_heard, now if self._began is None else self._began)
        if self.over or not awaited or quiet < max_wait:
            return None
        said = [] if self.too_few is None else [self.too_few]
        return standstill(quiet, waiting, [*said, *self.silence(now, max_wait).values()], max_wait)

    # -- messages, one by one -----------------------------------------------------------------------------------

    def _hello(self, hello: Hello, now: Seconds) -> Answers:
        if self.why is not None and self.epoch == 0 and self._roll.no_place(hello) is None:
            # A worker that comes to a roll call that has failed is told why, and counts as told.
            self._roll.add(hello, now)
            return [(hello.worker, self._refused(self.why))]
        answers = self._entrance.hello(hello, now)
        self.ignored += self.epoch > 0 and self.why is None and not answers and not self._epochs.is_over
        return self._freed(self._sound(answers))

    def _meet(self, message: Meet) -> Answers:
        if message.every < 1:
            return [(SENDER, self._refused(f"Workers can meet every 1, 2, … versions, not {message.every}."))]
        meetings = self._orders.meetings
        if len(meetings) >= MOST_MEETINGS and message.every not in meetings:
            return [
                (SENDER, self._refused(f"Workers can meet at {MOST_MEETINGS} different intervals, no more."))
            ]
        why = meetings.loop(message.worker, message.every, message.epochs) if message.epochs > 0 else None
        if why is not None and self._orders.closed_in == (0, 0):
            return self.fail(why)
        if why is not None:
            # The worker has come to a run that is under way: the others go on.
            meetings.forget(message.worker)
            return [(SENDER, self._refused(why))]
        meetings.ask(message.every)
        return []

    def _arrived(self, message: Arrived, now: Seconds) -> Answers:
        why = impossible(message)
        if why is not None:
            return [(SENDER, self._refused(why))]
        return self._sound(self._course.arrived(message, now))

    def _freed(self, answers: Answers) -> Answers:
        """Return the answers, and `Free` for the workers that are not needed any more."""
        gone = self.places.release(everybody=self.why is not None)
        if not gone:
            return answers
        free = Free(self.term, self.epoch)
        return [*answers, *((worker, free) for worker in gone)]

    # -- small things -------------------------------------------------------------------------------------------

    def _sound(self, answers: Answers) -> Answers:
        """Return the answers, or those of a failure if the run cannot go on."""
        return answers if self._course.why is None else self.fail(self._course.why)

    def _ignore(self) -> Answers:
        self.ignored += 1
        return []

    def _clock(self, now: Seconds) -> Seconds:
        """Return the time, which never runs backwards; note the first one."""
        self._began = now if self._began is None else self._began
        return max(now, self._orders.now)

    def _is_current(self, message: Meet | Arrived | Applied | Bye | State) -> bool:
        if isinstance(message, Bye):
            # A worker has left, in whatever epoch it said so.
            return message.term <= self.term and message.epoch <= self.epoch
        return message.epoch == self.epoch and message.term == self.term

    def _refused(self, why: str) -> Refused:
        return Refused(self.term, self.epoch, why)
