"""Comparison of arms with the best static one, seed by seed, with the same delays and data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from tailcut.study.statistics import UNKNOWN, Interval, holm, sign_flip_test, t_interval, t_test, tamed
from tailcut.types import FloatArray, Seconds

MARGIN = 1.03
"""Largest ratio of times to the target at which an arm counts as not worse."""
ERROR = 0.025
"""Chance of a false verdict of one kind among all arms of a table, at most: 5 % for both directions together."""

Verdict: TypeAlias = Literal["sooner", "not worse", "not shown", "worse"]
Test: TypeAlias = Literal["permutation", "t"]


@dataclass(frozen=True, slots=True)
class Reach:
    """The end of one run, at the target or at the end of its budget.

    Attributes:
        seconds: seconds to the target; infinite where it was not reached.
        ended: seconds at which the run ended.
        diverged: whether the run can never reach the target.
    """

    seconds: Seconds
    ended: Seconds
    diverged: bool = False


@dataclass(frozen=True, slots=True)
class Against:
    """The ratio of an arm's time to target to that of the best static arm.

    Attributes:
        reference: name of the best static arm.
        seeds: seeds on which at least one of the two arms reached the target.
        ratios: ratio on each of these seeds; infinite where only the reference reached it, 0 where only this
            arm did.
        undecided: number of seeds on which neither did, which are left out.
        mean: geometric mean of the ratios, as an upper bound: a reference that missed the target counts as if
            it had reached it when it ended.
        interval: interval of that mean, by Student's t on logarithms; an end is 0 or infinite where a run
            missed it.
        least, most: `(seeds,)` lower and upper bounds of the logarithms of the true ratios.
        test: name of the test that the chances are from.
        sooner: chance of such ratios if the arm is no sooner, corrected for all arms of the table.
        not_worse: the same chance if the arm takes at least `MARGIN` times as long.
        worse: the same chance if the arm takes at most `MARGIN` times as long.
    """

    reference: str
    seeds: tuple[int, ...]
    ratios: tuple[float, ...]
    undecided: int
    mean: float
    interval: Interval
    least: tuple[float, ...] = ()
    most: tuple[float, ...] = ()
    test: Test = "t"
    sooner: float = 1.0
    not_worse: float = 1.0
    worse: float = 1.0

    @property
    def verdict(self) -> Verdict:
        """The verdict by the corrected chances."""
        if self.sooner <= ERROR:
            return "sooner"
        if self.not_worse <= ERROR:
            return "not worse"
        return "worse" if self.worse <= ERROR else "not shown"


def reference_of(arm: str, rate_rule: str, best_static: str, arms: Sequence[str]) -> str | None:
    """Return the best static arm that an arm is compared with.

    Args:
        arm: name of the arm.
        rate_rule: learning-rate rule of the arm.
        best_static: name in the study; an arm named `best_static rate_rule`, which has the same learning-rate
            rule, is preferred.
        arms: names of all arms.

    Returns:
        The name; None where there is no such arm, or `arm` is one itself.

    Example:
        >>> reference_of("bayes gain", "gain", "best static", ["bayes gain", "best static", "best static gain"])
        'best static gain'
    """
    wanted = (f"{best_static} {rate_rule}", best_static)
    if not best_static or arm in wanted:
        return None
    return next((name for name in wanted if name in arms), None)


def held_against(reference: str, mine: Mapping[int, Reach], other: Mapping[int, Reach]) -> Against:
    """Return ratios of times to target, paired by seed. `judged` adds their chances.

    Args:
        reference: name of the other arm.
        mine: end of each seed's run.
        other: the same for the reference.
    """
    both = sorted(mine.keys() & other.keys())
    decided = [seed for seed in both if min(mine[seed].seconds, other[seed].seconds) < math.inf]
    bounds = [_log_bounds(mine[seed], other[seed]) for seed in decided]
    least, most = (np.array([bound[end] for bound in bounds]) for end in (0, 1))
    return Against(
        reference=reference,
        seeds=tuple(decided),
        ratios=tuple(mine[seed].seconds / other[seed].seconds for seed in decided),
        undecided=len(both) - len(decided),
        mean=_mean(most),
        interval=_interval(least, most),
        least=tuple(least.tolist()),
        most=tuple(most.tolist()),
    )


def judged(found: Sequence[Against]) -> list[Against]:
    """Return the comparisons of one table with their chances, corrected by Holm for how many they are.

    Exact permutation tests where the seeds are enough for them to show anything among so many comparisons, t tests on
    the logarithms where they are not: n seeds can at best have a chance of 2^-n.
    """
    tests: list[Test] = [
        "permutation" if 0.5 ** len(one.seeds) * len(found) <= ERROR else "t" for one in found
    ]
    margin = math.log(MARGIN)
    most, least = (
        [np.array(logs) for logs in ends] for ends in ([a.most for a in found], [a.least for a in found])
    )
    sooner = _corrected(most, tests)
    not_worse = _corrected([logs - margin for logs in most], tests)
    # The tests look for low values, so the ratios are inverted.
    worse = _corrected([margin - logs for logs in least], tests)
    return [
        replace(one, test=test, sooner=sooner[k], not_worse=not_worse[k], worse=worse[k])
        for k, (one, test) in enumerate(zip(found, tests, strict=True))
    ]


def _corrected(values: Sequence[FloatArray], tests: Sequence[Test]) -> list[float]:
    each = zip(values, tests, strict=True)
    return holm([sign_flip_test(logs) if test == "permutation" else t_test(logs) for logs, test in each])


def _log_bounds(mine: Reach, other: Reach) -> tuple[float, float]:
    """Return the bounds of the logarithm of the ratio; at least one of the two runs got there."""
    # A run that ended without the target needs longer than that. A run that diverged never reaches it.
    if math.isinf(mine.seconds):
        return (math.inf if mine.diverged else math.log(mine.ended / other.seconds)), math.inf
    if math.isinf(other.seconds):
        return -math.inf, (-math.inf if other.diverged else math.log(mine.seconds / other.ended))
    exact = math.log(mine.seconds / other.seconds)
    return exact, exact


def _interval(least: FloatArray, most: FloatArray) -> Interval:
    if len(least) < 2:
        return UNKNOWN
    low = 0.0 if (least == -math.inf).any() else math.exp(t_interval(tamed(least)).low)
    high = math.inf if (most == math.inf).any() else math.exp(t_interval(tamed(most)).high)
    return Interval(math.inf if (least == math.inf).all() else low, high)


def _mean(most: FloatArray) -> float:
    if len(most) == 0:
        return math.nan
    return math.inf if (most == math.inf).any() else math.exp(float(tamed(most).mean()))
