"""Arms held against the best static one, seed by seed: the same delays, the same data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from tailcut.study.grid.bootstrap import Interval, mean_interval
from tailcut.types import Seconds

MARGIN = 1.03
"""An arm that takes no more than this many times as long is not worse."""

Verdict: TypeAlias = Literal["sooner", "not worse", "not shown", "worse"]


@dataclass(frozen=True, slots=True)
class Against:
    """Time to target over that of a best static arm.

    Attributes:
        reference: that arm.
        seeds: on which at least one of the two reached the target.
        ratios: one for each of them; infinite where only the other one did, 0 where only this one did.
        undecided: seeds on which neither did, which are left out.
        mean: of the ratios.
        interval: of the mean.
    """

    reference: str
    seeds: tuple[int, ...]
    ratios: tuple[float, ...]
    undecided: int
    mean: float
    interval: Interval

    @property
    def verdict(self) -> Verdict:
        """What the interval shows. `not shown`: it holds `MARGIN`, or there is none."""
        low, high = self.interval.low, self.interval.high
        if high < 1.0:
            return "sooner"
        if high <= MARGIN:
            return "not worse"
        return "worse" if low > MARGIN else "not shown"


def reference_of(arm: str, rate_rule: str, best_static: str, arms: Sequence[str]) -> str | None:
    """The best static arm that an arm is held against.

    Args:
        arm: which.
        rate_rule: of the arm.
        best_static: the name in the study; `best_static rate_rule`, where there is such an arm, has the same
            learning-rate rule and is preferred.
        arms: that there are.

    Returns:
        None where there is no such arm, or it is one itself.

    Example:
        >>> reference_of("bayes gain", "gain", "best static", ["bayes gain", "best static", "best static gain"])
        'best static gain'
    """
    wanted = (f"{best_static} {rate_rule}", best_static)
    if not best_static or arm in wanted:
        return None
    return next((name for name in wanted if name in arms), None)


def held_against(
    reference: str,
    mine: Mapping[int, Seconds],
    other: Mapping[int, Seconds],
    generator: np.random.Generator,
) -> Against:
    """Ratios of times to target, paired by seed.

    Args:
        reference: name of the other arm.
        mine: time to target by seed, infinite where it was not reached.
        other: the same of the reference.
        generator: of the bootstrap.
    """
    both = sorted(mine.keys() & other.keys())
    decided = [seed for seed in both if min(mine[seed], other[seed]) < float("inf")]
    ratios = np.array([mine[seed] / other[seed] for seed in decided])
    return Against(
        reference=reference,
        seeds=tuple(decided),
        ratios=tuple(float(ratio) for ratio in ratios),
        undecided=len(both) - len(decided),
        mean=float(ratios.mean()) if len(ratios) else float("nan"),
        interval=mean_interval(ratios, generator),
    )
