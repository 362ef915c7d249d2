"""Check whether workers still out arrive as often as forecast, which curves of single workers cannot tell.

Workers may depend on each other in ways a forecast does not know: if exactly two of sixteen sleep in every round,
then with two still out no further worker arrives, though each of them may well be awake. A wait that begins
with k workers out ends with an arrival or with the close. Under the right forecast, arrivals minus
Σ −log P(silence as long as it was) is a martingale, whatever the rule for closing; where it strays
significantly, expected arrivals with k out are scaled by actual over expected arrivals. The correction
reaches only as far ahead as waits were tested.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from tailcut.shared_outlook import AnyOutlook
from tailcut.types import FloatArray, RoundRecord

MOST_OUT = 8
"""Most workers still out for which waits are tested; with more, expected arrivals average over many."""


MOST_SURPRISE = 3.0
"""Most expected arrivals that one silence may count as, so that a single surprise proves nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Checks:
    """Discounted waits that ended with an arrival, and expected ones, with k workers out; `(MOST_OUT + 1,)`.

    `reach` is the longest silence tested, in seconds, shrinking as tests are forgotten.
    """

    came: FloatArray
    expected: FloatArray
    reach: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Correction:
    """Factors on expected arrivals, and how many seconds ahead they apply; index k for k workers out."""

    factors: FloatArray
    reach: FloatArray

    def applied(self, arrivals: FloatArray, ahead: FloatArray, out: int) -> FloatArray:
        """Return the arrivals expected `ahead` seconds from now, corrected as far as was tested."""
        if out > MOST_OUT or self.factors[out] == 1.0:
            return arrivals
        tested = np.interp(self.reach[out], ahead, arrivals, left=0.0)
        corrected: FloatArray = arrivals + (self.factors[out] - 1.0) * np.minimum(arrivals, tested)
        return corrected


@final
@dataclass(frozen=True, slots=True)
class Calibration:
    """Scales expected arrivals only where they are wrong beyond doubt.

    Attributes:
        sigmas: standard deviations that count as beyond doubt.
        memory: rounds over which tests are forgotten, so that a dependence that has gone is noticed.
        doubt: prior arrivals, assumed to have come as expected.
    """

    sigmas: float = 2.5
    memory: float = 200.0
    doubt: float = 1.0

    def start(self) -> Checks:
        """Return checks in which no wait was tested."""
        zeros = np.zeros(MOST_OUT + 1)
        return Checks(zeros, zeros, zeros)

    def correction(self, tested: Checks) -> Correction:
        """Return the correction that the tests so far call for."""
        off = np.abs(tested.came - tested.expected) > self.sigmas * np.sqrt(tested.expected + 1.0)
        ratio = (tested.came + self.doubt) / (tested.expected + self.doubt)
        return Correction(np.where(off, ratio, 1.0), tested.reach)

    def learn(self, tested: Checks, outlook: AnyOutlook, record: RoundRecord) -> Checks:
        """Test every wait that began with few enough out; choosing waits by how they ended would bias the test."""
        keep = 1.0 - 1.0 / self.memory
        came, expected, reach = tested.came * keep, tested.expected * keep, tested.reach * keep
        when = record.arrivals
        moments = np.unique(when[np.isfinite(when) & (when < record.elapsed)])
        ends = np.append(moments[1:], record.elapsed)
        few = max(len(moments) - MOST_OUT, 0)  # at least one worker comes at each moment
        for begin, end in zip(moments[few:], ends[few:], strict=False):
            still = np.where(when <= begin, when, np.inf)
            out = int(np.isinf(still).sum())
            if 0 < out <= MOST_OUT:
                came[out] += float(np.any((when > begin) & (when <= end)))
                expected[out] += min(outlook.surprise(float(begin), float(end), still), MOST_SURPRISE)
                reach[out] = max(reach[out], end - begin)
        return Checks(came, expected, reach)
