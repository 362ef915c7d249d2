"""Facts about how slow each worker of a run is, and a few lines to print."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from tailcut.engines.records.rows import Times
from tailcut.engines.records.tally import Share
from tailcut.types import BoolArray, FloatArray, Seconds, WorkerId

SLOW = 1.5
"""A run time is slow if it is longer than so many times the median of its round."""
PERSISTENT, NOW_AND_THEN = 0.5, 0.01
"""Smallest shares of slow run times for which a worker is called slow all the time, or now and then."""
LEAST = 2
"""Fewest slow run times for which a worker is called slow now and then: a single one may be chance."""
MOST_NAMED = 4

Pace: TypeAlias = Literal["persistent", "now and then", "steady", "unknown"]


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """Facts about one worker.

    Attributes:
        worker: its place, from 0.
        rounds: number of rounds that it took part in.
        accepted: share of these rounds that its gradient was used in.
        median: median of its run times, in seconds; None where none is known.
        at_least: whether the median may be longer, because some run times are only known to exceed something.
        slowness: its median over the median worker's; of two in the middle the faster one's.
        score: from 0 for the slowest worker to 1 for the fastest: (slowest - own) / (slowest - fastest), of the
            medians. It ranks workers of one run and says nothing of how much they differ, which `slowness` does; all
            have 1 where all are equally fast.
        slow: share of its run times that are longer than 1.5 times the median of their round; those that were cut
            before that can be said are left out. None where none is left.
        slow_times: how much longer than the median of the round those are, their median; None where there are none.
        pace: `persistent` where at least half of its run times are slow, `now and then` where 1 % and at least two
            are, `steady` below that.
    """

    worker: WorkerId
    rounds: int
    accepted: float
    median: Seconds | None
    at_least: bool
    slowness: float | None
    score: float | None
    slow: float | None
    slow_times: float | None
    pace: Pace


def straggler_facts(times: Times, shares: Mapping[WorkerId, Share]) -> tuple[WorkerFacts, ...]:
    """Return facts about each worker.

    Args:
        times: run times of the rounds that are looked at.
        shares: number of rounds of each worker, and of those it was accepted in.
    """
    medians = [_median(times.seconds[:, i], times.observed[:, i]) for i in range(len(times.workers))]
    known = [median for median, _ in medians if median is not None]
    if not known:
        return ()
    middle, fastest, slowest = sorted(known)[(len(known) - 1) // 2], min(known), max(known)
    over = _over_round(times)
    facts = []
    for i, worker in enumerate(times.workers.tolist()):
        median, at_least = medians[i]
        slow, slow_times, pace = _pace(over[:, i], times.observed[:, i])
        share = shares[worker]
        facts.append(
            WorkerFacts(
                worker=worker,
                rounds=share.rounds,
                accepted=share.accepted / share.rounds,
                median=median,
                at_least=at_least,
                slowness=None if median is None else median / middle,
                score=None if median is None else _score(median, fastest, slowest),
                slow=slow,
                slow_times=slow_times,
                pace=pace,
            )
        )
    return tuple(facts)


def report(facts: Sequence[WorkerFacts], rounds: int) -> list[str]:
    """Return a few lines on the slow workers, the slowest first.

    Args:
        facts: facts about each worker.
        rounds: number of closed rounds.
    """
    if not facts:
        return []
    lasting = sorted((one for one in facts if one.pace == "persistent"), key=_slowness, reverse=True)
    at_times = sorted((one for one in facts if one.pace == "now and then"), key=_slow, reverse=True)
    unknown = [one for one in facts if one.pace == "unknown"]
    lines = [f"{rounds} rounds of {len(facts)} workers. {_spread(facts)}"]
    if lasting:
        lines.append(f"Slow all the time: {_named(lasting, _lasting)}.")
    if at_times:
        lines.append(f"Slow now and then: {_named(at_times, _at_times)}.")
    if unknown:
        lines.append(f"Always cut before it could be said how slow: {_named(unknown, _accepted)}.")
    if len(lines) == 1:
        lines.append("Nobody was slow for long or often.")
    return lines


def _median(seconds: FloatArray, observed: BoolArray) -> tuple[Seconds | None, bool]:
    """Return the median, with censored times at what they exceed, and whether the true one may be longer."""
    known = ~np.isnan(seconds)
    if not known.any():
        return None, False
    least = float(np.median(seconds[known]))
    most = float(np.median(np.where(observed, seconds, np.inf)[known]))
    return least, most > least


def _over_round(times: Times) -> FloatArray:
    """Return run times over the median (of two the faster one) of their round; NaN where unknown."""
    over = np.full_like(times.seconds, np.nan)
    some = ~np.isnan(times.seconds).all(axis=1)
    typical = np.nanquantile(times.seconds[some], 0.5, axis=1, keepdims=True, method="lower")
    over[some] = times.seconds[some] / typical
    return over


def _pace(over: FloatArray, observed: BoolArray) -> tuple[float | None, float | None, Pace]:
    slow = over > SLOW
    # A run time that was cut early counts as neither.
    judged = slow | (observed & ~np.isnan(over))
    if not judged.any():
        return None, None, "unknown"
    share = float(slow.sum() / judged.sum())
    times = float(np.median(over[slow])) if slow.any() else None
    if share >= PERSISTENT:
        return share, times, "persistent"
    return share, times, "now and then" if share >= NOW_AND_THEN and slow.sum() >= LEAST else "steady"


def _score(median: Seconds, fastest: Seconds, slowest: Seconds) -> float:
    return 1.0 if slowest == fastest else (slowest - median) / (slowest - fastest)


def _slowness(facts: WorkerFacts) -> float:
    return facts.slowness or 0.0


def _slow(facts: WorkerFacts) -> float:
    return facts.slow or 0.0


def _spread(facts: Sequence[WorkerFacts]) -> str:
    slowest = max(facts, key=_slowness)
    least = "at least " if slowest.at_least else ""
    times = f"{least}{_slowness(slowest):.2f} times as long as the median one"
    return f"The slowest, worker {slowest.worker}, takes {times}."


def _named(facts: Sequence[WorkerFacts], words: Callable[[WorkerFacts], str]) -> str:
    more = len(facts) - MOST_NAMED
    named = [f"worker {one.worker} ({words(one)})" for one in facts[:MOST_NAMED]]
    return ", ".join([*named, *([f"and {more} more"] if more > 0 else [])])


def _lasting(facts: WorkerFacts) -> str:
    least = "at least " if facts.at_least else ""
    return f"{least}{_slowness(facts):.1f} × the median, {_accepted(facts)}"


def _at_times(facts: WorkerFacts) -> str:
    return f"{_slow(facts):.0%} of its run times, then {facts.slow_times or 0.0:.1f} × the median, {_accepted(facts)}"


def _accepted(facts: WorkerFacts) -> str:
    return f"accepted in {facts.accepted:.0%}"
