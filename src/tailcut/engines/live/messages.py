"""What workers and the controller say to each other. Plain records, without torch, sockets or clocks.

Every message carries the controller's term and the epoch; one of another term or epoch is refused. A worker is its
place in the process group, from 0. A version counts updates: version v is the parameters after v of them, and the
round of version v makes version v + 1.

    worker ─▶ controller:  Hello, Meet, Arrived, Applied, Bye, State
    controller ─▶ worker:  New, Close, Go, Limit, Stop, Again, Refused, Over, Free
    worker ─▶ worker:      Pull, answered by an update of the log (`updates.py`), and Copy, by a state (`copies.py`);
                           or by NotYet
    controller ─▶ worker:  Where, to the port where others pull; answered by Here
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

from tailcut.engines.live.options import MAX_SUMMARY_BYTES
from tailcut.types import Seconds

SILENCE: Seconds = 0.6
"""Silence of another worker in a reduction, in seconds, after which a worker first gives a reduction up."""

BROADCAST = "broadcast"
"""The value of `Alike.initial` with which workers may begin with different numbers."""


MAX_PATH, MAX_NAME = 300, 80
"""Longest path of a file, and longest name of a function, in characters."""


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
        numbers: a digest of the numbers that the net and the optimizer begin with.
        initial: `broadcast` if workers with other numbers copy those of the first one, `compare` if they are refused.
        unsaved: a digest of the buffers that are not saved with the net; empty if they are not looked at.
    """

    torch: str
    machine: str
    optimiser: str
    parameters: str
    settings: str
    numbers: str = ""
    initial: str = "compare"
    unsaved: str = ""


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
        local: the same at workers that one machine's memory and Unix sockets connect; empty where it has neither.
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
    local: str = ""


class Meet(Message, frozen=True):
    """A worker's script wants all workers to meet at every version that `every` divides.

    Attributes:
        worker: who.
        every: versions from one meeting to the next.
        epochs: how many epochs of so many updates the script's loop has; 0 where it is no loop over epochs.
    """

    worker: int
    every: int
    epochs: int = 0


class Arrived(Message, frozen=True):
    """A worker waits in `step()` with its gradient.

    Attributes:
        worker: who.
        version: of the parameters the gradient was computed at.
        samples: that it is a mean over.
        share: of its mini-batch that they are; under 1 it stopped early.
        seconds: from the time it had these parameters, by its own clock; the controller goes by its own.
        finite: False where the gradient overflowed: it is not used, but it has arrived.
        options: a summary of the optimizer's options, as `options.py` makes it.
    """

    worker: int
    version: int
    samples: int
    share: float
    seconds: float
    finite: bool
    options: Annotated[bytes, msgspec.Meta(max_length=MAX_SUMMARY_BYTES)] = b""


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
        silence: seconds of another worker's silence after which a worker gives a reduction up.
        is_local: whether one machine's memory and Unix sockets connect all members: they open no port to reduce.
    """

    members: tuple[int, ...]
    addresses: tuple[str, ...]
    base: int
    holder: int
    joiners: tuple[int, ...] = ()
    silence: Seconds = SILENCE
    is_local: bool = False


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


class Where(Message, frozen=True):
    """The controller asks a worker where it is in its script."""


class Here(Message, frozen=True):
    """Where a worker is in its script.

    Attributes:
        file: of the script's code, or of what it uses; the end of a long path. Empty where nothing runs.
        line: in it.
        function: that the line is in.
        call: what it has called there, of torch.distributed or tailcut; empty for neither.
        is_collective: whether that is of torch.distributed, and the script's own.
    """

    file: Annotated[str, msgspec.Meta(max_length=MAX_PATH)]
    line: int
    function: Annotated[str, msgspec.Meta(max_length=MAX_NAME)]
    call: Annotated[str, msgspec.Meta(max_length=MAX_NAME)]
    is_collective: bool


FromWorker: TypeAlias = Hello | Meet | Arrived | Applied | Bye | State
FromController: TypeAlias = New | Close | Go | Limit | Stop | Again | Refused | Over | Free
BetweenWorkers: TypeAlias = Pull | Copy | NotYet | Where | Here
