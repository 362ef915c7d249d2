"""The rules that hold with any faults.

    fork              members of an epoch have one history: each log is the beginning of the longest
    redone            no round is repeated that a surviving member has completed
    twice or skipped  every worker applies each version once, in order
    spoilt            an update is made of gradients as they were computed
    lost              no version is undone that all had reported, or whose checkpoint was published
    forgotten         a replacement controller keeps all updates of workers that were not given up before
    gave up           a run ends early only if no worker that is left has a state; with checkpoints never
    stuck             as long as a worker has a state, the run reaches its end, with all workers that are left
    endless           the number of epochs is limited by the number of faults

If all workers that had a version are gone, the others may continue from the version they have; with
checkpoints from no older version than that of the newest.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from tailcut.engines.live.controller.change import NO_STATE
from tailcut.engines.live.messages import New
from tailcut.testing.search.controllers import Facts
from tailcut.testing.search.explore import BrokenRuleError
from tailcut.testing.search.logs import EMPTY, Logs
from tailcut.testing.search.scene import Shared
from tailcut.testing.search.steps import living
from tailcut.testing.search.workers import OVER, Phase, Worker

HAS_STATE = (Phase.COMPUTES, Phase.WAITS, Phase.REDUCES, Phase.PULLS, Phase.LEAVES)


def check_members(facts: Facts, workers: Sequence[Worker], kept: int, logs: Logs) -> None:
    """Check that workers in the run, or that left it in order, agree with each other and the kept log."""
    found = [
        (number, worker.log)
        for number, worker in enumerate(workers)
        if worker.phase in (Phase.DONE, Phase.ENDED)
        or (number in facts.there and number not in facts.joining and worker.phase in HAS_STATE)
    ]
    if len({log for _, log in found} | {kept}) == 1:
        return
    for (one, log), (other, others) in combinations(found, 2):
        if not logs.agree(log, others):
            both = f"worker {one} has {logs.tell(log)}, worker {other} {logs.tell(others)}"
            raise BrokenRuleError("fork", f"In epoch {facts.epoch} {both}.")
    for number, log in found:
        if not logs.agree(log, kept):
            raise BrokenRuleError(
                "lost", f"Worker {number} has {logs.tell(log)}, but all had {logs.tell(kept)}."
            )


def check_new(new: New, shared: Shared, workers: Sequence[Worker], logs: Logs) -> None:
    """Check that an epoch begins with its members' longest log, and loses no kept or published version."""
    for number in new.members:
        worker = workers[number]
        if number in new.joiners or worker.phase in OVER or not worker.built:
            continue
        version = logs.length(worker.log)
        if version > new.base:
            why = f"worker {number}, who is in it, has completed version {version}"
            raise BrokenRuleError("redone", f"Epoch {new.epoch} goes on from version {new.base}, but {why}.")
    alive = living(shared.kept_by, workers)
    if new.base < logs.length(shared.kept) and alive:
        known = f"version {logs.length(shared.kept)} was reported by all who were there, or its checkpoint published"
        who = f"worker {alive[0]} of them lives"
        raise BrokenRuleError(
            "lost", f"Epoch {new.epoch} goes on from version {new.base}, but {known}: {who}."
        )
    holder = workers[new.holder]
    if holder.phase not in OVER and logs.start(holder.log, logs.length(shared.published)) != shared.published:
        has, kept = logs.tell(logs.start(holder.log, new.base)), logs.tell(shared.published)
        raise BrokenRuleError("lost", f"Epoch {new.epoch} goes on from {has}, but a checkpoint holds {kept}.")


def check_taken_over(new: New, workers: Sequence[Worker], given_up: frozenset[int], logs: Logs) -> None:
    """Check that a replacement's first epoch keeps the updates of all live workers that were not given up."""
    holder = workers[new.holder]
    if holder.phase in OVER:
        return
    base = logs.start(holder.log, new.base)
    for number, worker in enumerate(workers):
        if worker.phase in OVER or not worker.built or number in given_up:
            continue
        if logs.start(base, logs.length(worker.log)) != worker.log:
            what = f"worker {number}, who is well, has {logs.tell(worker.log)}"
            raise BrokenRuleError("forgotten", f"Term {new.term} goes on from {logs.tell(base)}, but {what}.")


def check_reason(facts: Facts, workers: Sequence[Worker], total: int) -> None:
    """Check that a controller has ended its run early only for want of a worker with the state."""
    if facts.why is None:
        if facts.over and not facts.deserted and facts.version < total:
            raise BrokenRuleError("gave up", f"The run is over at version {facts.version}, not {total}.")
        return
    if facts.why != NO_STATE:
        raise BrokenRuleError("gave up", f"The run fails: {facts.why}")
    for number in facts.there:
        if workers[number].phase in (*HAS_STATE, Phase.GREETS) and workers[number].built:
            raise BrokenRuleError("gave up", f"The run fails, but worker {number} has the state. {facts.why}")


def check_ended(facts: Facts, workers: Sequence[Worker], total: int, logs: Logs) -> None:
    """Check a state in which only faults can happen: every worker ended at the last version, or is gone."""
    if facts.epoch == 0 and not any(worker.built and worker.phase not in OVER for worker in workers):
        # Only newcomers answer this roll call, and it ends when they have waited long enough.
        return
    for number, worker in enumerate(workers):
        if worker.phase not in OVER:
            where = f"of term {facts.term}, epoch {facts.epoch}"
            what = f"worker {number}, at version {logs.length(worker.log)}, {worker.phase} for ever, {where}"
            raise BrokenRuleError("stuck", f"Nothing can happen any more, but {what}.")
        if worker.phase is Phase.ENDED and logs.length(worker.log) != total:
            raise BrokenRuleError(
                "stuck", f"Worker {number} has ended at version {logs.length(worker.log)}, not {total}."
            )


def published(facts: Facts, shared: Shared, workers: Sequence[Worker], logs: Logs) -> Shared:
    """Return the shared part with `kept` at the version that all present workers reported, if newer."""
    if facts.epoch == 0 or not facts.there or facts.oldest <= logs.length(shared.kept):
        return shared
    holders = (workers[number] for number in facts.there)
    log = next((one.log for one in holders if one.phase not in OVER), EMPTY)
    if logs.length(log) < facts.oldest:
        return shared
    return shared._replace(kept=logs.start(log, facts.oldest), kept_by=frozenset(facts.there))
