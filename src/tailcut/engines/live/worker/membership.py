"""A worker's membership in one epoch after another: it says Hello, enters, and may copy the state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import final

import msgspec

from tailcut.engines.live.data.group import Group, let_go
from tailcut.engines.live.data.pulling import Puller
from tailcut.engines.live.messages import Again, Applied, Bye, Close, Go, Hello, Limit, New, Over, State, Stop
from tailcut.engines.live.points import at
from tailcut.engines.live.worker.alike import numbers_of
from tailcut.engines.live.worker.inbox import Inbox, Renewed, RunError, too_late
from tailcut.engines.live.worker.joining import Own, copy_state, state_to_offer
from tailcut.engines.live.worker.keeping import Keeping
from tailcut.engines.live.worker.link import Link
from tailcut.types import Seconds, WorkerId


@final
class Membership:
    """The membership of one worker in the epoch that it knows of.

    Args:
        hello: the `Hello` with which it presents itself at first.
        own: the objects that it trains with.
        link, inbox: connection to the controller, and the messages from it.
        puller: fetches the state of others.
        mesh: makes the process group of an epoch, given this worker's place in it.
        offer: gives a state to workers that join: its version, and its frames or None to stop.
        max_wait: seconds to wait for a copy of the state.
        keeping: the checkpoints of the run.

    Attributes:
        new: the epoch, as the controller has announced it.
        group: its process group; None where that was given up.
        worker: place of this worker, from 0.
    """

    def __init__(
        self,
        hello: Hello,
        own: Own,
        link: Link,
        inbox: Inbox,
        puller: Puller,
        mesh: Callable[[New, int], Group],
        offer: Callable[[int, list[bytes | memoryview] | None], None],
        max_wait: Seconds,
        keeping: Keeping,
    ) -> None:
        self.worker: WorkerId = hello.worker
        self.group: Group | None = None
        self._hello, self._own, self._link, self._inbox = hello, own, link, inbox
        self._puller, self._mesh, self._offer, self._max_wait = puller, mesh, offer, max_wait
        self._keeping = keeping
        self._addresses: dict[WorkerId, str] = {}
        self.new = New(hello.term, hello.epoch, (), (), hello.version, hello.worker)
        # Term and epoch of the last epoch whose base version it had: by it controllers judge its log.
        self._stands = (hello.term, hello.epoch)
        self._is_behind = self._offers = self._has_resumed = False

    @property
    def here(self) -> tuple[int, int, int, int]:
        """Return the first fields of most of this worker's messages: term, epoch, worker and version."""
        return self.new.term, self.new.epoch, self.worker, self._own.replica.version

    @property
    def is_lazy(self) -> bool:
        """Return whether Gloo connects members only when they first need it: in all epochs but the first."""
        return (self.new.term, self.new.epoch) > (1, 1) and not self.new.is_local

    @property
    def is_first(self) -> bool:
        """Return whether this worker is the first that did not join: it does what one of all has to do."""
        return next((w for w in self.new.members if w not in self.new.joiners), None) == self.worker

    @property
    def is_called(self) -> bool:
        """Return whether the epoch is over, by the messages so far: holders of updates may be gone."""
        return any(
            isinstance(message, Stop | Again | Renewed)
            or (isinstance(message, New) and self.is_later(message))
            for message in self._inbox.look()
        )

    def is_later(self, new: New) -> bool:
        """Return whether an epoch is later than this worker's; after two Hellos it is told of one twice."""
        return (new.term, new.epoch) > (self.new.term, self.new.epoch)

    def take_resumed(self) -> bool:
        """Return, once, whether this worker's state was replaced by that of a checkpoint."""
        found, self._has_resumed = self._has_resumed, False
        return found

    def join(self) -> None:
        """Say Hello and enter an epoch, with its state."""
        new = self.answer()
        while isinstance(new, Over) or not self.enter(new):
            new = self._next()

    def answer(self) -> New | Over:
        """Say Hello, for the first time or again, and wait for the next epoch, or for the end of the run.

        A Hello is a promise: no operation of an earlier epoch completes at this worker any more.
        """
        self._break_off()
        self._say_hello()
        return self._next()

    def rejoin(self) -> New:
        """Say Hello as a worker that lacks updates which no other keeps: it joins, as if it had none."""
        self._is_behind = True
        new = self.answer()
        assert isinstance(new, New), "the end of the run does not help who is behind"
        return new

    def _next(self) -> New | Over:
        """Wait for the next epoch or the end. A Hello is repeated only if the controller cannot have it."""
        while True:
            message = self._inbox.next()
            match message:
                case New() if self.is_later(message):
                    return message
                case Again() if (message.term, message.epoch) > (self.new.term, self.new.epoch):
                    self._say_hello()
                case Renewed():
                    self._say_hello()
                case Over() if self._can_end(message):
                    return message
                case Over() if (message.term, message.epoch) >= (self.new.term, self.new.epoch):
                    raise too_late(
                        f"The run has ended, at version {message.version}, before this worker could join."
                    )
                case New() | Stop() | Again() | Close() | Limit() | Go() | Over():
                    # The message is of an epoch that this worker is no longer in.
                    pass
                case _:
                    kind = type(message).__name__
                    raise RunError(f"The controller answered Hello with {kind}. Start all workers again.")

    def _can_end(self, over: Over) -> bool:
        """Return whether this worker can pull the last version from its epoch, as without its Hello."""
        here = (self.new.term, self.new.epoch)
        has_log = self.worker not in self.new.joiners or self._stands == here
        return (over.term, over.epoch) == here and has_log and not self._is_behind

    def enter(self, new: New) -> bool:
        """Enter an epoch, with the state of its other members; return False where it was over before that."""
        at("entering", new.base)
        self._break_off()
        self.new = new
        self._addresses = dict(zip(new.members, new.addresses, strict=True))
        place = new.members.index(self.worker)
        self.group = self._mesh(new, place)
        self._offer_state()
        if self.worker in new.joiners:
            return self._copied()
        self.settle()
        return True

    def attend(self, news: New | Renewed) -> None:
        """Tell a new controller or epoch, after leaving, which version this worker has, and that it has left.

        A replacement controller does not know the workers that have left. Without their messages it would
        resume from the state of the others, and make the last versions anew.
        """
        if isinstance(news, Renewed):
            self._present()
            return
        self.new = news
        self._offer_state()
        self._link.send(Bye(*self.here))

    def settle(self) -> None:
        """Record that this worker has reached the base version of its epoch, if it has."""
        if self._own.replica.version >= self.new.base:
            self._stands = (self.new.term, self.new.epoch)

    def confirmed(self, close: Close) -> None:
        """Stop offering a state once all workers have the epoch's base version: joiners have copied it.

        It takes as much memory as net and optimizer. A worker that needs another copy begins another epoch.
        """
        new = self.new
        is_had = (close.term, close.epoch) == (new.term, new.epoch) and close.needed >= new.base
        if self._offers and is_had:
            self._offers = False
            self._offer(new.base, None)

    def stopped(self) -> None:
        """Give up the group, and answer that no operation of this epoch completes here any more."""
        self._break_off()
        self._link.send(State(*self.here, self._own.log.chain))
        at("stopped", self._own.replica.version)

    def holders(self, first: Iterable[WorkerId]) -> dict[WorkerId, str]:
        """Return the addresses to pull updates from: `first`, then the members that did not join just now."""
        order = dict.fromkeys([*first, *(w for w in self.new.members if w not in self.new.joiners)])
        return {worker: self._addresses[worker] for worker in order if worker != self.worker}

    def places(self, workers: Iterable[WorkerId]) -> list[int]:
        """Return the workers' places in the process group of this epoch."""
        return [self.new.members.index(worker) for worker in workers]

    def are_of_one_machine(self, workers: Iterable[WorkerId]) -> bool:
        """Return whether all these workers have the same host in their addresses, which all members know."""
        return len({self._addresses[worker].rpartition(":")[0] for worker in workers}) == 1

    def _offer_state(self) -> None:
        """Offer this worker's state to those that join this epoch, if they are to copy it from this one."""
        new = self.new
        self._offers = bool(new.joiners) and new.holder == self.worker
        state = state_to_offer(self._own) if self._offers else None
        if self._offers and state is None and new.epoch == 1:
            raise RunError(
                "The other workers cannot copy the numbers that this worker begins with: see the sentence before. Seed "
                "all workers alike."
            )
        self._offer(new.base, state)
        if self._offers:
            at("offering", new.base)

    def _say_hello(self) -> None:
        """Present this worker's state, or the newest checkpoint if that state is behind it.

        The controller may be another one by now. If all workers with the newest state are gone, it takes the run back
        to the newest state that is presented to it.
        """
        if self._keeping.resume_later(is_in_run=self._stands[1] > 0):
            self._resumed()
        self._present()

    def _resumed(self) -> None:
        """Become like a worker that has just been started, with the state of a checkpoint."""
        replica, first = self._own.replica, self._hello
        numbers = numbers_of(replica.module, replica.optimiser)
        self._hello = msgspec.structs.replace(
            first, alike=msgspec.structs.replace(first.alike, numbers=numbers)
        )
        self._stands, self._is_behind, self._has_resumed = (first.term, first.epoch), False, True

    def _present(self) -> None:
        version, chain = self._own.replica.version, self._own.log.chain
        term, epoch = self._stands
        told = {"term": term, "epoch": epoch, "version": version, "chain": chain}
        self._link.send(msgspec.structs.replace(self._hello, **told, is_behind=self._is_behind))

    def _break_off(self) -> None:
        """Give up the group, by which others in a reduction learn of this. The gradient stays as it was."""
        if self.group is not None:
            held, self.group = [self.group], None
            let_go(held)

    def _copied(self) -> bool:
        """Copy the state of the holder; return False where the epoch was over before that."""
        new = self.new
        at("copying", new.base)
        holder = self._addresses[new.holder]
        if not copy_state(self._own, new, self._puller, holder, self._max_wait, lambda: self.is_called):
            return False
        at("copied", new.base)
        self._stands, self._is_behind = (new.term, new.epoch), False
        self._link.send(Applied(*self.here, self._own.log.chain))
        return True
