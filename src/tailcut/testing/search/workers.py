"""The model of a worker, by the protocol.

    greets ─▶ (copies) ─▶ computes ─▶ waits ─▶ reduces ─▶ computes …          done ─▶ ended
       ▲                     ▲          ├─▶ pulls ──┘                           ▲
       └─ Again, reconnect ──┼──────────┤                                       │
                             └── Go ────┴─────────────── Over ─▶ (leaves) ──────┘

A worker is a value; the functions here return its next value. A worker reads no message while it computes or
reduces.
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
    """The activity of a worker."""

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
    """The gradient that a worker waits with."""

    NONE = ""
    OWN = "as it was computed"
    SPOILT = "changed by a reduction that did not end"


class Worker(NamedTuple):
    """One worker.

    Attributes:
        phase: its activity.
        process: number of times that its process was started again.
        built: whether it has been in an epoch with a state; until then it is not in its training loop.
        new: the message of the epoch that it is in; None for none yet.
        stands: term and epoch of the last epoch whose first version it had.
        log: the updates that it has applied, as a number in `Logs`.
        since: version from which on it keeps updates for others.
        gradient: the gradient that it waits with.
        goal: version that it pulls up to; `NOWHERE` if it does not pull.
        inside: the Close of the reduction that it is in; None if it is in none.
        haunts: with the bug `NO_PROMISE`, the Close of a reduction that may still complete after its `State`.
        renewed: whether its connection to the controller broke and was made again, unnoticed by it so far.
        inbox: messages on their way to it, in order.
        outbox: messages on their way from it, in order.
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
"""Phases in which a worker notices a new connection."""


def address(number: int, process: int) -> str:
    """Return the address from which others pull a worker's updates; different for each process."""
    return f"{number}.{process}"


def chain(log: int) -> bytes:
    """Return the history hash of a log, as in messages."""
    return b"%d" % log


def epoch_of(me: Worker) -> tuple[int, int]:
    """Return the term and epoch that a worker is in."""
    return (1, 0) if me.new is None else (me.new.term, me.new.epoch)


def here(me: Worker, number: int, logs: Logs) -> tuple[int, int, int, int]:
    """Return the first fields of most messages: term, epoch, worker, version."""
    return *epoch_of(me), number, logs.length(me.log)


def says(me: Worker, message: FromWorker) -> Worker:
    """Return the worker with one more message on its way."""
    return me._replace(outbox=(*me.outbox, message))


def gone(me: Worker, kept: int | None = None) -> Worker:
    """Return the worker after its process has ended; its first `kept` messages still arrive, all if None."""
    return Worker(Phase.GONE, me.process, outbox=me.outbox[:kept])


def greets(me: Worker, number: int, workers: int, logs: Logs) -> Worker:
    """Return the worker after a Hello, its first or another one; one that has left stays `DONE`."""
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
    """Return the worker with the newest checkpoint if its own state is older, or differs at that version."""
    is_newer = logs.length(published) > logs.length(me.log)
    differs = me.stands[1] > 0 and logs.length(published) == logs.length(me.log) and published != me.log
    if not (is_newer or differs):
        return me
    since = logs.length(published)
    return me._replace(log=published, since=since, stands=(1, 0), gradient=Gradient.NONE, inside=None)


def arrives(me: Worker, number: int, logs: Logs) -> Worker:
    """Return the worker after it has come to `step()` with a gradient."""
    me = me._replace(phase=Phase.WAITS, gradient=Gradient.OWN)
    return hands_in(me, number, logs)


def hands_in(me: Worker, number: int, logs: Logs) -> Worker:
    """Return the worker after it has sent `Arrived`."""
    return says(me, Arrived(*here(me, number, logs), 8, 1.0, 1.0, True))


def stops(me: Worker, number: int, logs: Logs) -> Worker:
    """Return the worker after it has sent `State`: nothing of its epoch completes any more."""
    me = me._replace(phase=Phase.WAITS, inside=None)
    return says(me, Stopped(*here(me, number, logs), chain(me.log)))


def leaves(me: Worker, number: int, logs: Logs) -> Worker:
    """Return the worker after its training loop has ended and it has sent `Bye`."""
    me = me._replace(phase=Phase.DONE, goal=NOWHERE, gradient=Gradient.NONE)
    return says(me, Bye(*here(me, number, logs)))


def pulls(me: Worker, number: int, log: int, logs: Logs) -> Worker:
    """Return the worker after it has applied the next update that it has missed."""
    me = me._replace(log=log, gradient=Gradient.NONE)
    if logs.length(log) < me.goal:
        return me
    me = me._replace(stands=epoch_of(me))
    if me.phase is Phase.LEAVES:
        return leaves(me, number, logs)
    return me._replace(phase=Phase.COMPUTES, goal=NOWHERE)


def copies(me: Worker, number: int, log: int, logs: Logs) -> Worker:
    """Return the worker after it has copied a state, without the updates that led to it."""
    me = me._replace(phase=Phase.COMPUTES, built=True, stands=epoch_of(me), log=log, since=logs.length(log))
    return says(me, Applied(*here(me, number, logs), chain(log)))


def completes(me: Worker, number: int, close: Close, spoilt: bool, logs: Logs) -> Worker:
    """Return the worker after it has completed a reduction and applied the update."""
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
