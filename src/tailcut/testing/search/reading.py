"""The reaction of a worker to a message that it reads, by the protocol."""

from __future__ import annotations

from tailcut.engines.live.messages import Again, Close, Free, FromController, Go, New, Over, Refused, Stop
from tailcut.testing.search.explore import BrokenRuleError
from tailcut.testing.search.logs import Logs
from tailcut.testing.search.workers import (
    NOWHERE,
    Gradient,
    Phase,
    Worker,
    epoch_of,
    gone,
    greets,
    hands_in,
    leaves,
    stops,
)


def reads(me: Worker, number: int, workers: int, logs: Logs) -> Worker:
    """Return the worker after it has read its next message."""
    message, me = me.inbox[0], me._replace(inbox=me.inbox[1:])
    if me.phase is Phase.DONE:
        return _hears_after_leaving(me, number, message, logs)
    if isinstance(message, Refused):
        return gone(me)
    if me.phase is Phase.GREETS:
        return _hears_while_greeting(me, number, message, workers, logs)
    version = logs.length(me.log)
    match message:
        case Close() if message.version == version and number in message.accepted:
            return me._replace(phase=Phase.REDUCES, inside=message)
        case Stop():
            return stops(me, number, logs)
        case Again() if (message.term, message.epoch) >= epoch_of(me):
            return greets(me, number, workers, logs)
        case New() if (message.term, message.epoch) > epoch_of(me):
            return _enters(me, number, message, logs)
        case Go() if message.version > version:
            return me._replace(phase=Phase.PULLS, goal=message.version)
        case Go():
            return me._replace(phase=Phase.COMPUTES, gradient=Gradient.NONE)
        case Over() if message.version > version:
            return me._replace(phase=Phase.LEAVES, goal=message.version)
        case Over():
            return leaves(me, number, logs)
        case Free():
            raise BrokenRuleError("nonsense", f"Worker {number} is told Free, but has not left.")
        case _:
            return me


def _hears_after_leaving(me: Worker, number: int, message: FromController, logs: Logs) -> Worker:
    """Return a worker that has left after a message: released it ends; taken for a member it leaves again."""
    if isinstance(message, New):
        return leaves(me._replace(new=message), number, logs)
    is_free = isinstance(message, Free | Refused)
    return Worker(Phase.ENDED, me.process, log=me.log, outbox=me.outbox) if is_free else me


def _hears_while_greeting(
    me: Worker, number: int, message: FromController, workers: int, logs: Logs
) -> Worker:
    """Return a worker that said Hello after a message: `New` and `Again` count only if they are later."""
    is_later = (message.term, message.epoch) > epoch_of(me)
    if isinstance(message, New):
        return _enters(me, number, message, logs) if is_later else me
    if isinstance(message, Again) and is_later:
        return greets(me, number, workers, logs)
    if isinstance(message, Over) and _can_end(me, number, message):
        if message.version > logs.length(me.log):
            return me._replace(phase=Phase.LEAVES, goal=message.version)
        return leaves(me, number, logs)
    too_late = isinstance(message, Over) and (message.term, message.epoch) >= epoch_of(me)
    return gone(me) if too_late or isinstance(message, Free) else me


def _can_end(me: Worker, number: int, over: Over) -> bool:
    """Return whether a worker that said Hello can still get the last version from others of its epoch."""
    if me.new is None or (over.term, over.epoch) != epoch_of(me):
        return False
    return number not in me.new.joiners or me.stands == epoch_of(me)


def _enters(me: Worker, number: int, new: New, logs: Logs) -> Worker:
    """Return the worker in a new epoch: nothing of the epoch before completes from here on."""
    me = me._replace(new=new, goal=NOWHERE, inside=None, haunts=None)
    if number in new.joiners:
        return me._replace(phase=Phase.COPIES, gradient=Gradient.NONE)
    if not me.built:
        return me._replace(phase=Phase.COMPUTES, built=True, stands=epoch_of(me))
    version = logs.length(me.log)
    if version > new.base:
        why = f"Worker {number} has version {version}, but epoch {new.epoch} begins at version {new.base}."
        raise BrokenRuleError("redone", why)
    if version < new.base:
        return me._replace(phase=Phase.PULLS, goal=new.base)
    return _goes_on(me, number, logs)


def _goes_on(me: Worker, number: int, logs: Logs) -> Worker:
    """Return the worker at the version its epoch begins at: it waits with its gradient, or computes one."""
    me = me._replace(stands=epoch_of(me))
    if me.gradient is Gradient.NONE:
        return me._replace(phase=Phase.COMPUTES)
    return hands_in(me._replace(phase=Phase.WAITS), number, logs)
