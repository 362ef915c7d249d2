"""The messages between workers and the controller. Plain records, without torch, sockets or clocks.

Every message carries the controller's term and the epoch. The controller ignores those of another term or
epoch, but for `Hello` and an older `Bye`. A worker is named by its rank in the process group, from 0. A
version counts updates: version v is the parameters after v of them, and the round of version v makes version
v + 1.

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
    """The base of all messages.

    Attributes:
        term: number of controllers that were started for this run.
        epoch: number of the epoch of the membership; 0 before the first.
    """

    term: int
    epoch: int


class Alike(msgspec.Struct, frozen=True, array_like=True):
    """The properties that must be the same at every worker, or replicas would drift apart.

    Attributes:
        torch: version of torch.
        machine: CPU capability or GPU name.
        optimiser: class and flags of the optimizer.
        parameters: names, shapes and types of the parameters, as one digest.
        settings: settings of tailcut's own optimizer (clipping, mode), in words.
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
    """The spread of the gradients of one update, for `tailcut.types.Measured`.

    Attributes:
        samples: samples in the update.
        big: squared norm of the mean gradient.
        small: mean squared norm of the workers' own gradients.
        small_samples: samples in each of these; the harmonic mean if the numbers differ.
    """

    samples: int
    big: float
    small: float
    small_samples: float


class Hello(Message, frozen=True):
    """A worker announces itself.

    Attributes:
        worker: its rank in the process group.
        workers: number of workers that it was told.
        host, process: host name and process ID, for messages to people.
        node: number of its machine; workers of one node slow down together.
        address: address from which others pull its updates.
        version, chain: version and history hash of its log, as of `term` and `epoch`; the epoch of a worker
            that was in none yet is 0.
        alike: properties that must be the same at every worker.
        is_behind: whether it lacks updates that no worker keeps any more, so that it must copy a state.
        local: equal for workers that share one machine's memory and Unix sockets; empty without these.
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
        worker: rank of the worker.
        every: versions from one meeting to the next.
        epochs: number of epochs, of `every` updates each, in the script's loop; 0 for another loop.
    """

    worker: int
    every: int
    epochs: int = 0


class Arrived(Message, frozen=True):
    """A worker waits in `step()` with its gradient.

    Attributes:
        worker: rank of the worker.
        version: version of the parameters that the gradient was computed at.
        samples: number of samples that the gradient is a mean over.
        share: these samples' share of its mini-batch; below 1 it stopped early.
        seconds: seconds since it had these parameters, by its own clock; the controller goes by its own.
        finite: False if the gradient overflowed: it is not used, but it has arrived.
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
        worker: rank of the worker.
        version: version after the update.
        chain: history hash of its log, up to this version.
        numbers: a digest of the parameters after the update, now and then; empty otherwise.
        scatter: spread of the gradients in the update; None if it is not measured.
    """

    worker: int
    version: int
    chain: bytes
    numbers: bytes = b""
    scatter: Scatter | None = None


class Bye(Message, frozen=True):
    """A worker leaves its loop; the run no longer waits for it. Others may pull its updates until `Free`."""

    worker: int
    version: int


class State(Message, frozen=True):
    """The answer to `Stop`: nothing of the old epoch completes any more at this worker."""

    worker: int
    version: int
    chain: bytes


class New(Message, frozen=True):
    """A new epoch begins.

    Attributes:
        members: ranks of the workers in it, in order.
        addresses: address from which to pull updates, for each member.
        base: version that all members continue from.
        holder: member that has the log up to `base`.
        joiners: members that have no state yet: they copy the holder's.
        silence: seconds of another worker's silence after which a worker gives a reduction up.
        is_local: whether all members share one machine's memory and Unix sockets, and open no port to reduce.
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
        version: version of the round.
        accepted: workers whose gradients are in the update, in the order of the ring.
        scale: factor of the learning rate in this update.
        abandon: workers that are to drop what they compute.
        needed: the oldest version that a worker is known to be at; no worker needs older updates any more.
    """

    version: int
    accepted: tuple[int, ...]
    scale: float
    abandon: tuple[int, ...]
    needed: int = 0


class Go(Message, frozen=True):
    """A worker that is not in the last update takes part again: it pulls up to `version` and computes there.

    Attributes:
        version: version to compute at.
        deadline: seconds after which it stops by itself; None for no limit.
        late: seconds from the close of its round to its arrival, which the others did not wait.
    """

    version: int
    deadline: float | None
    late: float = 0.0


class Limit(Message, frozen=True):
    """A time limit for a worker that computes at `version` without a `Go`. It is no answer to a message.

    Attributes:
        version: version that the limit is for.
        seconds: longest time to compute, from when the worker had these parameters.
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
    """A worker that has said `Bye` is released: no other worker needs its updates any more."""


class Refused(Message, frozen=True):
    """The worker cannot take part.

    Attributes:
        why: reason, as a sentence for its user.
        late: whether it comes after the run, or after its own part in it: then the others may have succeeded.
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
    """The holder does not have what was asked for: not yet, or no longer.

    Attributes:
        version: version that was asked for.
        oldest, newest: range of versions whose updates it has.
    """

    version: int
    oldest: int
    newest: int


class Where(Message, frozen=True):
    """The controller asks a worker where it is in its script."""


class Here(Message, frozen=True):
    """The position of a worker in its script.

    Attributes:
        file: file of the script or of code that it uses; the end of a long path. Empty if no code runs.
        line: line number in the file.
        function: function that the line is in.
        call: function of torch.distributed or tailcut that is called there; empty for neither.
        is_collective: whether the call is a collective of torch.distributed that the script itself makes.
    """

    file: Annotated[str, msgspec.Meta(max_length=MAX_PATH)]
    line: int
    function: Annotated[str, msgspec.Meta(max_length=MAX_NAME)]
    call: Annotated[str, msgspec.Meta(max_length=MAX_NAME)]
    is_collective: bool


FromWorker: TypeAlias = Hello | Meet | Arrived | Applied | Bye | State
FromController: TypeAlias = New | Close | Go | Limit | Stop | Again | Refused | Over | Free
BetweenWorkers: TypeAlias = Pull | Copy | NotYet | Where | Here
