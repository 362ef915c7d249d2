"""The steps that are possible in a state: by the system itself, or as faults from outside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tailcut.engines.live.messages import Again, FromController, New, Refused, Stop
from tailcut.testing.search.bounds import Bounds, Bug
from tailcut.testing.search.controllers import Facts
from tailcut.testing.search.logs import Logs
from tailcut.testing.search.scene import Scene
from tailcut.testing.search.workers import IN_STEP, OVER, Phase, Worker, address, epoch_of

TROUBLE = frozenset({"kill", "stall", "silence", "cut", "restart", "return"})
NOBODY = -1
READS = (Phase.WAITS, Phase.GREETS, Phase.DONE)


class Step(NamedTuple):
    """One possible step.

    Attributes:
        what: name of the step.
        worker: the worker that it is about; `NOBODY` if it is about the controller.
        number: for `kill` the number of messages that still arrive; for `pull` the next log; for `copy` the
            holder's log; for `silence` the number of silent workers.
    """

    what: str
    worker: int = NOBODY
    number: int = 0


def living(those: Iterable[int], workers: Sequence[Worker]) -> list[int]:
    """Return those of these workers whose process is alive, sorted."""
    return sorted(number for number in those if workers[number].phase not in OVER)


def possible(scene: Scene, facts: Facts, bounds: Bounds, bug: Bug | None, logs: Logs) -> list[Step]:
    """Return all steps that are possible."""
    if facts.deserted:
        return _deserted(scene, facts, bounds, bug, logs)
    if facts.ended and not bounds.to_the_end:
        return []
    found: list[Step] = []
    for number, worker in enumerate(scene.workers):
        if worker.outbox and not facts.over:
            found.append(Step("hear", number))
        elif worker.phase in OVER and (number in facts.there or number in facts.serving) and not facts.over:
            found.append(Step("notice", number))
        if worker.phase not in OVER:
            found += _by_itself(scene, facts, number, bug, logs)
    found += _time(scene, facts, bounds)
    if bounds.checkpoints and _can_publish(scene, facts):
        found.append(Step("publish"))
    if scene.shared.begun <= bounds.epochs and not facts.over:
        found += _trouble(scene, facts)
    return found


def _deserted(scene: Scene, facts: Facts, bounds: Bounds, bug: Bug | None, logs: Logs) -> list[Step]:
    """Return the steps after the controller has lost all workers: live ones continue until a replacement."""
    alive = [number for number, worker in enumerate(scene.workers) if worker.phase not in OVER]
    if not alive and not (bounds.checkpoints and scene.shared.left.returns):
        return []
    steps = [step for number in alive for step in _by_itself(scene, facts, number, bug, logs)]
    return [*(step for step in steps if step.what != "hang up"), Step("take over")]


def _by_itself(scene: Scene, facts: Facts, number: int, bug: Bug | None, logs: Logs) -> Iterator[Step]:
    worker = scene.workers[number]
    phase, idle = worker.phase, False
    if worker.renewed and phase in IN_STEP:
        yield Step("renew", number)
    if phase is Phase.COMPUTES:
        yield Step("arrive", number)
    elif phase in READS:
        idle = not worker.inbox
        if worker.inbox:
            yield Step("read", number)
    elif phase is Phase.REDUCES:
        assert worker.inside is not None
        if scene.reduction(worker.inside).complete:
            yield Step("complete", number)
        if scene.is_hopeless(number, worker.inside):
            yield Step("break off", number)
    else:
        at_hand = (
            states(scene, worker) if phase is Phase.COPIES else updates(scene, number, worker, bug, logs)
        )
        what = "copy" if phase is Phase.COPIES else "pull"
        yield from (Step(what, number, log) for log in at_hand)
        is_called = any(_calls(message, worker) for message in worker.inbox)
        idle = not at_hand and not is_called
        if is_called:
            yield Step("look up", number)
    if facts.over and idle:
        yield Step("hang up", number)
    if worker.haunts is not None and phase in READS and scene.reduction(worker.haunts).complete:
        yield Step("complete after all", number)


def _calls(message: FromController, worker: Worker) -> bool:
    """Return whether a message calls a worker away from pulling or copying."""
    if isinstance(message, New):
        return (message.term, message.epoch) > epoch_of(worker)
    return isinstance(message, Stop | Again | Refused)


def _can_publish(scene: Scene, facts: Facts) -> bool:
    """Return whether a live worker of the run may publish a checkpoint of the version that all had reported.

    A worker that was cut off may publish later, too. That is not explored: it does no harm, since the run
    still has that version, or has made it anew, or returns to it.
    """
    in_run = {*facts.there, *facts.serving} & scene.shared.kept_by
    return scene.shared.published != scene.shared.kept and bool(living(in_run, scene.workers))


def updates(scene: Scene, number: int, worker: Worker, bug: Bug | None, logs: Logs) -> list[int]:
    """Return the logs with a worker's next update that members of its epoch can give: one, or none."""
    new, version = worker.new, logs.length(worker.log)
    found: list[int] = []
    if new is None:
        return found
    for other, where in zip(new.members, new.addresses, strict=True):
        it = scene.workers[other]
        if other == number or it.phase in OVER or where != address(other, it.process):
            continue
        if bug is not Bug.STALE_HOLDER and not _may_give(other, it, worker, logs):
            continue
        if logs.length(it.log) > version >= it.since:
            log = logs.start(it.log, version + 1)
            # A member with another history is passed over.
            if logs.start(log, version) == worker.log and log not in found:
                found.append(log)
    return found


def _may_give(other: int, it: Worker, worker: Worker, logs: Logs) -> bool:
    """Return whether another worker is asked for updates: a joiner only for one it made in this epoch.

    A joiner may have made older updates together with workers that were given up.
    """
    new = worker.new
    assert new is not None
    if other not in new.joiners:
        return True
    made = logs.last(logs.start(it.log, worker.goal))
    is_of_epoch = made is not None and (made.term, made.epoch) == (new.term, new.epoch)
    return is_of_epoch and made is not None and made.version == worker.goal - 1 and other in made.accepted


def states(scene: Scene, worker: Worker) -> list[int]:
    """Return the log of the holder whose state a worker can copy now, in a list; empty if it cannot copy."""
    new = worker.new
    if new is None:
        return []
    holder = scene.workers[new.holder]
    where = new.addresses[new.members.index(new.holder)]
    offers = holder.phase not in OVER and where == address(new.holder, holder.process) and holder.new == new
    return [holder.log] if offers else []


def _time(scene: Scene, facts: Facts, bounds: Bounds) -> Iterator[Step]:
    """Return the steps of time: waiting for dead workers ends; continuing without a live one is a fault."""
    if not facts.wakes or facts.over:
        return
    awaited = facts.reducing if facts.epoch and not facts.asking else _unheard(scene, facts)
    well = [number for number in awaited if _may_speak(scene.workers[number])]
    if not well:
        if facts.epoch == 0 or facts.asking or facts.reducing:
            yield Step("tick")
    elif facts.epoch or bounds.hasty:
        left, many = scene.shared.left, len(well)
        if scene.shared.begun <= bounds.epochs and min(left.silences, left.altogether) >= many:
            yield Step("silence", number=many)


def _may_speak(worker: Worker) -> bool:
    """Return whether a worker may send a message; one that has left does so only to a new controller."""
    if worker.phase is Phase.DONE:
        return worker.renewed or bool(worker.outbox)
    return worker.phase not in OVER


def _unheard(scene: Scene, facts: Facts) -> list[int]:
    return [number for number in range(len(scene.workers)) if number not in facts.there]


def _trouble(scene: Scene, facts: Facts) -> Iterator[Step]:
    left = scene.shared.left
    for number, worker in enumerate(scene.workers):
        if worker.phase is Phase.GONE and left.returns and not worker.outbox and number not in facts.there:
            yield Step("return", number)
        if worker.phase in OVER or not left.altogether:
            continue
        if left.deaths:
            yield from (Step("kill", number, kept) for kept in range(len(worker.outbox) + 1))
        if left.cuts and number in facts.there:
            yield Step("cut", number)
        if worker.phase is Phase.REDUCES and left.stalls:
            assert worker.inside is not None
            if not scene.is_hopeless(number, worker.inside):
                yield Step("stall", number)
    if left.altogether and left.restarts and facts.epoch:
        yield Step("restart")
