"""The model of a worker, after the protocol.

    greets ─▶ (copies) ─▶ computes ─▶ waits ─▶ reduces ─▶ computes …          done ─▶ ended
       ▲                     ▲          ├─▶ pulls ──┘                           ▲
       └─ Again, a new line ─┼──────────┤                                       │
                             └── Go ────┴─────────────── Over ─▶ (leaves) ──────┘

A worker is a value; every function here gives the one that it becomes. Nothing is read while it computes or reduces.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from tailcut.engines.live.messages import (
    Alike,
    Applied,
    Arrived,
    Bye,
    Close,
    FromController,
    FromWorker,
    Hello,
    New,
)
from tailcut.engines.live.messages import State as Stopped
from tailcut.testing.search.explore import BrokenRuleError
from tailcut.testing.search.logs import EMPTY, Logs, Update

ALIKE = Alike("", "", "", "", "")
NOWHERE = -1


class Phase(StrEnum):
    """What a worker does."""

    GREETS = "waits for an answer to its Hello"
    COPIES = "copies the holder's state"
    COMPUTES = "computes"
    WAITS = "waits in step()"
    REDUCES = "reduces"
    PULLS = "pulls updates"
    LEAVES = "pulls the last updates"
    DONE = "has left, and serves others"
    ENDED = "has ended"
    GONE = "is gone"


class Gradient(StrEnum):
    """What a worker waits with."""

    NONE = ""
    OWN = "as it was computed"
    SPOILT = "changed by a reduction that did not end"


class Worker(NamedTuple):
    """One worker.

    Attributes:
        phase: what it does.
        process: how often its process was started again.
        built: whether it has been in an epoch with a state; until then it is not in its loop.
        new: the epoch that it is in; None for none yet.
        stands: term and epoch of the last one whose beginning it had.
        log: updates that it has applied, as `Logs` numbers them.
        since: version from which on it keeps updates for others.
        gradient: that it has brought.
        goal: version that it pulls up to.
        inside: the reduction that it is in.
        haunts: with the bug, the reduction that may still complete, though it has said that it would not.
        renewed: whether its line to the controller was lost and is there again, and it has not noticed.
        inbox, outbox: messages on their way, in order.
    """

    phase: Phase
    process: int = 0
    built: bool = False
    new: New | None = None
    stands: tuple[int, int] = (1, 0)
    log: int = EMPTY
    since: int = 0
    gradient: Gradient = Gradient.NONE
    goal: int = NOWHERE
    inside: Close | None = None
    haunts: Close | None = None
    renewed: bool = False
    inbox: tuple[FromController, ...] = ()
    outbox: tuple[FromWorker, ...] = ()


OVER = (Phase.ENDED, Phase.GONE)
IN_STEP = (Phase.WAITS, Phase.PULLS, Phase.LEAVES, Phase.COPIES, Phase.GREETS, Phase.DONE)
"""Where a worker looks at what came."""


def address(number: int, process: int) -> str:
    """Where others pull from it; another one for every process."""
    return f"{number}.{process}"


def chain(log: int) -> bytes:
    """As messages tell it."""
    return b"%d" % log


def epoch_of(me: Worker) -> tuple[int, int]:
    """Term and epoch that it is in."""
    return (1, 0) if me.new is None else (me.new.term, me.new.epoch)


def here(me: Worker, number: int, logs: Logs) -> tuple[int, int, int, int]:
    """What most messages begin with."""
    return *epoch_of(me), number, logs.length(me.log)


def says(me: Worker, message: FromWorker) -> Worker:
    """With one message more on its way."""
    return me._replace(outbox=(*me.outbox, message))


def gone(me: Worker, kept: int | None = None) -> Worker:
    """Its process has ended; so many of its messages come to the controller all the same, or all of them."""
    return Worker(Phase.GONE, me.process, outbox=me.outbox[:kept])


def greets(me: Worker, number: int, workers: int, logs: Logs) -> Worker:
    """It says Hello, for the first time or again, with what it has; who has left, so that it is known of."""
    phase = Phase.DONE if me.phase is Phase.DONE else Phase.GREETS
    me = me._replace(phase=phase, goal=NOWHERE, inside=None, renewed=False)
    term, epoch = me.stands
    where, version = address(number, me.process), logs.length(me.log)
    hello = Hello(
        term,
        epoch,
        number,
        workers,
        "",
        me.process,
        -1,
        where,
        version=version,
        chain=chain(me.log),
        alike=ALIKE,
    )
    return says(me, hello)


def resumes(me: Worker, published: int, logs: Logs) -> Worker:
    """It loads the newest checkpoint where its own state is behind that, before it says Hello to another controller."""
    is_newer = logs.length(published) > logs.length(me.log)
    differs = me.stands[1] > 0 and logs.length(published) == logs.length(me.log) and published != me.log
    if not (is_newer or differs):
        return me
    since = logs.length(published)
    return me._replace(log=published, since=since, stands=(1, 0), gradient=Gradient.NONE, inside=None)


def arrives(me: Worker, number: int, logs: Logs) -> Worker:
    """It comes to `step()` with a gradient."""
    me = me._replace(phase=Phase.WAITS, gradient=Gradient.OWN)
    return hands_in(me, number, logs)


def hands_in(me: Worker, number: int, logs: Logs) -> Worker:
    """It says that it waits."""
    return says(me, Arrived(*here(me, number, logs), 8, 1.0, 1.0, True))


def stops(me: Worker, number: int, logs: Logs) -> Worker:
    """It says which version it has, and that nothing of its epoch completes any more."""
    me = me._replace(phase=Phase.WAITS, inside=None)
    return says(me, Stopped(*here(me, number, logs), chain(me.log)))


def leaves(me: Worker, number: int, logs: Logs) -> Worker:
    """Its loop is over."""
    me = me._replace(phase=Phase.DONE, goal=NOWHERE, gradient=Gradient.NONE)
    return says(me, Bye(*here(me, number, logs)))


def pulls(me: Worker, number: int, log: int, logs: Logs) -> Worker:
    """It applies the next update that it has missed."""
    me = me._replace(log=log, gradient=Gradient.NONE)
    if logs.length(log) < me.goal:
        return me
    me = me._replace(stands=epoch_of(me))
    if me.phase is Phase.LEAVES:
        return leaves(me, number, logs)
    return me._replace(phase=Phase.COMPUTES, goal=NOWHERE)


def copies(me: Worker, number: int, log: int, logs: Logs) -> Worker:
    """It has the state of another, but not the updates that led to it."""
    me = me._replace(phase=Phase.COMPUTES, built=True, stands=epoch_of(me), log=log, since=logs.length(log))
    return says(me, Applied(*here(me, number, logs), chain(log)))


def completes(me: Worker, number: int, close: Close, spoilt: bool, logs: Logs) -> Worker:
    """It has the sum, and applies it."""
    version = logs.length(me.log)
    if close.version != version:
        raise BrokenRuleError(
            "twice or skipped", f"Worker {number}, at version {version}, applies round {close.version}."
        )
    log = logs.after(me.log, Update(close.term, close.epoch, close.version, close.accepted, spoilt))
    since = min(max(me.since, close.needed), close.version)
    me = me._replace(
        phase=Phase.COMPUTES, log=log, since=since, gradient=Gradient.NONE, inside=None, haunts=None
    )
    return says(me, Applied(*here(me, number, logs), chain(log)))
