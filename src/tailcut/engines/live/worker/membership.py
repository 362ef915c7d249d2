"""This worker's part in one epoch after another: it says Hello, enters, and copies the state where it has none."""

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
    """Of one worker, in the epoch that it knows of.

    Args:
        hello: how it presents itself at first.
        own: what it trains with.
        link, inbox: to and from the controller.
        puller: fetches the state of others.
        mesh: makes the group of an epoch, with this worker's place in it.
        offer: gives the state to whoever joins: its version and frames, or no longer.
        max_wait: seconds for a copy of the state.
        keeping: of checkpoints.

    Attributes:
        new: the epoch.
        group: its process group; None where that was given up.
        worker: who this is.
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
        # Term and epoch of the last one whose beginning this worker had: what its log is worth to a new controller.
        self._stands = (hello.term, hello.epoch)
        self._is_behind = self._offers = self._has_resumed = False

    @property
    def here(self) -> tuple[int, int, int, int]:
        """What most of this worker's messages begin with: term, epoch, who, and its version."""
        return self.new.term, self.new.epoch, self.worker, self._own.replica.version

    @property
    def is_lazy(self) -> bool:
        """Whether Gloo connects two members only when they first need it: all but the first epoch wait for nobody."""
        return (self.new.term, self.new.epoch) > (1, 1) and not self.new.is_local

    @property
    def is_first(self) -> bool:
        """Whether this worker does what one of all has to do."""
        return next((w for w in self.new.members if w not in self.new.joiners), None) == self.worker

    @property
    def is_called(self) -> bool:
        """Whether the epoch is over: whoever had the newest update may be gone. Looks at what came, without waiting."""
        return any(
            isinstance(message, Stop | Again | Renewed)
            or (isinstance(message, New) and self.is_later(message))
            for message in self._inbox.look()
        )

    def is_later(self, new: New) -> bool:
        """Whether an epoch comes after this worker's. A worker that says Hello twice is told of the same one twice."""
        return (new.term, new.epoch) > (self.new.term, self.new.epoch)

    def take_resumed(self) -> bool:
        """Return whether this worker's state was replaced by that of a checkpoint, once."""
        found, self._has_resumed = self._has_resumed, False
        return found

    def join(self) -> None:
        """Say Hello and be in an epoch, with its state."""
        new = self.answer()
        while isinstance(new, Over) or not self.enter(new):
            new = self._next()

    def answer(self) -> New | Over:
        """Say Hello, for the first time or again, and wait for the next epoch, or for the end of this one's run.

        That is a promise: nothing of the epochs before completes at this worker any more, whatever still comes of them.
        """
        self._break_off()
        self._say_hello()
        return self._next()

    def rejoin(self) -> New:
        """Say Hello as one that lacks updates which nobody keeps any more: it joins, as if it had nothing."""
        self._is_behind = True
        new = self.answer()
        assert isinstance(new, New), "the end of the run does not help who is behind"
        return new

    def _next(self) -> New | Over:
        """The next epoch. Whoever is known to join is in it without another Hello, which would only begin one more."""
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
                    # Of an epoch that this worker is no longer in.
                    pass
                case _:
                    kind = type(message).__name__
                    raise RunError(f"The controller answered Hello with {kind}. Start all workers again.")

    def _can_end(self, over: Over) -> bool:
        """Whether this worker can have the last version from others of its epoch, as if it had not said Hello."""
        here = (self.new.term, self.new.epoch)
        has_log = self.worker not in self.new.joiners or self._stands == here
        return (over.term, over.epoch) == here and has_log and not self._is_behind

    def enter(self, new: New) -> bool:
        """Be a member of an epoch, with the state that its others have; False where it was over before that."""
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
        """After leaving: whoever decides now learns where this worker stands, and that it takes part no longer.

        A controller that has taken another one's place knows nothing of those who have left. Without their word it
        would go on from what the others have, and make the last versions anew.
        """
        if isinstance(news, Renewed):
            self._present()
            return
        self.new = news
        self._offer_state()
        self._link.send(Bye(*self.here))

    def settle(self) -> None:
        """This worker may have come to where its epoch begins."""
        if self._own.replica.version >= self.new.base:
            self._stands = (self.new.term, self.new.epoch)

    def confirmed(self, close: Close) -> None:
        """Where everybody has come to where the epoch begins, who joined has its copy: no state is offered any more.

        It takes as much memory as net and optimiser. Who needs another one begins another epoch.
        """
        new = self.new
        is_had = (close.term, close.epoch) == (new.term, new.epoch) and close.needed >= new.base
        if self._offers and is_had:
            self._offers = False
            self._offer(new.base, None)

    def stopped(self) -> None:
        """Answer that nothing of this epoch completes any more here."""
        self._break_off()
        self._link.send(State(*self.here, self._own.log.chain))
        at("stopped", self._own.replica.version)

    def holders(self, first: Iterable[WorkerId]) -> dict[WorkerId, str]:
        """Where updates can be pulled from: from these first. Who joins has none, but for those that it was in."""
        order = dict.fromkeys([*first, *(w for w in self.new.members if w not in self.new.joiners)])
        return {worker: self._addresses[worker] for worker in order if worker != self.worker}

    def places(self, workers: Iterable[WorkerId]) -> list[int]:
        """In the process group of this epoch."""
        return [self.new.members.index(worker) for worker in workers]

    def are_of_one_machine(self, workers: Iterable[WorkerId]) -> bool:
        """Whether all these have the same host in their addresses, which all members know."""
        return len({self._addresses[worker].rpartition(":")[0] for worker in workers}) == 1

    def _offer_state(self) -> None:
        """To those who join this epoch, where they are to copy it from this worker."""
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
        """Be as a worker that has just been started, with the state of a checkpoint."""
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
        """Whoever else is in a reduction learns of this when the group is gone. The gradient is as it was."""
        if self.group is not None:
            held, self.group = [self.group], None
            let_go(held)

    def _copied(self) -> bool:
        """Have the state of the others; False where the epoch was over before."""
        new = self.new
        at("copying", new.base)
        holder = self._addresses[new.holder]
        if not copy_state(self._own, new, self._puller, holder, self._max_wait, lambda: self.is_called):
            return False
        at("copied", new.base)
        self._stands, self._is_behind = (new.term, new.epoch), False
        self._link.send(Applied(*self.here, self._own.log.chain))
        return True
