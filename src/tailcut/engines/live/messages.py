"""What workers and the controller say to each other. Plain records, without torch, sockets or clocks.

Every message carries the controller's term and the epoch; one of another term or epoch is refused. A worker is its
place in the process group, from 0. A version counts updates: version v is the parameters after v of them, and the
round of version v makes version v + 1.

    worker ─▶ controller:  Hello, Meet, Arrived, Applied, Bye, State
    controller ─▶ worker:  New, Close, Go, Limit, Stop, Again, Refused, Over, Free
    worker ─▶ worker:      Pull, answered by an update of the log (`updates.py`), and Copy, by a state (`copies.py`);
                           or by NotYet
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class Message(msgspec.Struct, frozen=True, tag=True, array_like=True, forbid_unknown_fields=True):
    """Any message.

    Attributes:
        term: how often a controller has been started for this run.
        epoch: of the membership; 0 before the first.
    """

    term: int
    epoch: int


class Alike(msgspec.Struct, frozen=True, array_like=True):
    """What must be the same at every worker, or replicas would drift apart.

    Attributes:
        torch: version.
        machine: CPU capability or GPU name.
        optimiser: class and flags.
        parameters: names, shapes and types, as one digest.
        settings: of tailcut's own optimiser (clipping, mode), in words.
        numbers: that the net begins with, as one digest.
    """

    torch: str
    machine: str
    optimiser: str
    parameters: str
    settings: str
    numbers: str = ""


class Scatter(msgspec.Struct, frozen=True, array_like=True):
    """How far the gradients of one update scatter: what `tailcut.types.Measured` needs of them.

    Attributes:
        samples: in the update.
        big: squared norm of the mean gradient.
        small: mean squared norm of the workers' own.
        small_samples: that these are means over; of different numbers, the harmonic mean.
    """

    samples: int
    big: float
    small: float
    small_samples: float


class Hello(Message, frozen=True):
    """A worker is there.

    Attributes:
        worker: its place in the process group.
        workers: how many there are, as it was told.
        host, process: where it runs, for messages to people.
        node: machines by number; workers of one node slow down together.
        address: where others pull updates from it.
        version, chain: of its log, which it came to in `term` and `epoch`; 0 for the epoch of one that was in none yet.
        alike: what must be the same everywhere.
        is_behind: whether it lacks updates that nobody keeps any more: it is to copy a state.
    """

    worker: int
    workers: int
    host: str
    process: int
    node: int
    address: str
    version: int
    chain: bytes
    alike: Alike
    is_behind: bool = False


class Meet(Message, frozen=True):
    """A worker's script wants all workers to meet at every version that `every` divides."""

    worker: int
    every: int


class Arrived(Message, frozen=True):
    """A worker waits in `step()` with its gradient.

    Attributes:
        worker: who.
        version: of the parameters the gradient was computed at.
        samples: that it is a mean over.
        share: of its mini-batch that they are; under 1 it stopped early.
        seconds: from the time it had these parameters, by its own clock; the controller goes by its own.
        finite: False where the gradient overflowed: it is not used, but it has arrived.
    """

    worker: int
    version: int
    samples: int
    share: float
    seconds: float
    finite: bool


class Applied(Message, frozen=True):
    """An accepted worker has applied an update.

    Attributes:
        worker: who.
        version: after it.
        chain: of its log, up to there.
        numbers: a digest of the parameters after it, now and then; empty otherwise.
        scatter: of the gradients in it, where that is looked at.
    """

    worker: int
    version: int
    chain: bytes
    numbers: bytes = b""
    scatter: Scatter | None = None


class Bye(Message, frozen=True):
    """A worker leaves its loop and is no longer waited for. It still gives its updates to others, until `Free`."""

    worker: int
    version: int


class State(Message, frozen=True):
    """The answer to `Stop`: nothing of the old epoch completes any more at this worker."""

    worker: int
    version: int
    chain: bytes


class New(Message, frozen=True):
    """A new epoch.

    Attributes:
        members: in it, in order.
        addresses: where to pull from each of them.
        base: version that all of them continue from.
        holder: who has the log up to there.
        joiners: members that have nothing yet: they copy the holder's state.
    """

    members: tuple[int, ...]
    addresses: tuple[str, ...]
    base: int
    holder: int
    joiners: tuple[int, ...] = ()


class Close(Message, frozen=True):
    """A round is closed.

    Attributes:
        version: of the round.
        accepted: in the order of the ring.
        scale: what the learning rate is multiplied by in this update.
        abandon: who is to drop what it computes.
        needed: the oldest version that a worker is known to be at: nobody asks for updates before it any more.
    """

    version: int
    accepted: tuple[int, ...]
    scale: float
    abandon: tuple[int, ...]
    needed: int = 0


class Go(Message, frozen=True):
    """A worker that is not in the last update takes part again: it pulls up to `version` and computes there.

    Attributes:
        version: to compute at.
        deadline: seconds after which it stops by itself; None for none.
        late: seconds from the close of the round it computed for to its arrival: what the others did not wait.
    """

    version: int
    deadline: float | None
    late: float = 0.0


class Limit(Message, frozen=True):
    """How long a worker that is at `version` by itself computes there at most. It answers nothing.

    Attributes:
        version: it speaks of.
        seconds: from the time the worker had these parameters.
    """

    version: int
    seconds: float


class Stop(Message, frozen=True):
    """Leave the running operation; the epoch is over."""


class Again(Message, frozen=True):
    """The others have gone on without this worker, which was silent: it says `Hello` again, and copies their state."""


class Over(Message, frozen=True):
    """The run has ended at `version`: as many updates were asked for, or too few workers can be there. Say `Bye`."""

    version: int


class Free(Message, frozen=True):
    """To a worker that has said `Bye`: nobody needs anything of it any more."""


class Refused(Message, frozen=True):
    """The worker cannot take part.

    Attributes:
        why: a sentence for its user.
        late: whether it comes after the run, or after its own part in it: others may well have done theirs.
    """

    why: str
    late: bool = False


class Pull(Message, frozen=True):
    """One worker asks another for the update that made `version` + 1."""

    version: int


class Copy(Message, frozen=True):
    """A worker that joins asks the holder for its whole state, as it was at `version`, when the epoch began."""

    version: int


class NotYet(Message, frozen=True):
    """The holder does not have it: not yet, or no longer.

    Attributes:
        version: asked for.
        oldest, newest: versions whose updates it has.
    """

    version: int
    oldest: int
    newest: int


FromWorker: TypeAlias = Hello | Meet | Arrived | Applied | Bye | State
FromController: TypeAlias = New | Close | Go | Limit | Stop | Again | Refused | Over | Free
BetweenWorkers: TypeAlias = Pull | Copy | NotYet
