"""Stopping: decide during the round, with every arrival and every silence, whether waiting longer still pays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np

from tailcut.errors import ParameterError
from tailcut.objective import Count, Objective
from tailcut.outlook import Future
from tailcut.rules.base import Opening, Rule
from tailcut.rules.calibration import Calibration, Checks, Correction
from tailcut.rules.patience import Patience, PatienceMemory
from tailcut.shared_outlook import AnyOutlook, outlook_of
from tailcut.types import Close, Decision, FloatArray, Progress, RoundRecord, Seconds, Wait

LIKELY = 0.5
"""Chance of being done by the close from which on a worker that comes free in mid-round still begins."""
FIRST = 1.2
"""Multiple of the first arrival's time for which a large round stays open at least."""
MAX_OPTIMISM = 1.0
"""Largest optimism: twice as many arrivals as expected."""
FEW = 12
"""Number of workers from which on a round shows enough to need no optimism."""
WORTH = 1e-9
"""Gain, in gradients, below which waiting is not worth a decision."""


def until_somebody(times: FloatArray, nobody: FloatArray) -> FloatArray:
    """Return `(k,)` the expected seconds from each time until the first arrival, if that is later."""
    area = np.diff(times) * (nobody[:-1] + nobody[1:]) * 0.5
    out: FloatArray = np.append(np.cumsum(area[::-1])[::-1], 0.0)
    return out


@dataclass(frozen=True, slots=True, eq=False)
class StoppingMemory:
    """The results of the trials of θ and of the tests of the forecasts."""

    patience: PatienceMemory
    tested: Checks


@dataclass(frozen=True, slots=True, eq=False)
class StoppingPlan:
    """The values by which one round is decided.

    Attributes:
        outlook: the forecast prepared for questions during the round; None while there is none.
        price: value that a second costs.
        at_home: value that a second costs once groups that were away are seen to be back.
        horizon: seconds after the opening at which the round is likely to close.
        patience: the θ in the price.
        correction: correction of the expected arrivals.
    """

    outlook: AnyOutlook | None
    price: float
    at_home: float
    horizon: Seconds
    patience: float
    correction: Correction


@final
@dataclass(frozen=True, slots=True)
class Stopping(Rule[StoppingMemory, StoppingPlan]):
    """Wait while some moment d has a positive gain; the best d is the wake-up.

    The gain of waiting from `elapsed` until d, with j gradients in, is

        E[value(N(d))] − value(j) − λ·E[min(d, last arrival) − elapsed],

    for `Count` a sum over the workers not yet in of P(x_i ≤ d | x_i > elapsed, what has been seen): expectation is
    linear, nothing is sorted. λ, the price of a second, is what this round's own forecast says is attainable,
    max over d of E[value(N(d))] / (E[min(d, last arrival)] + overhead), where a round without an arrival by d
    goes on until the first one. Where late workers finish their work, a cut also costs the worker's next
    round and the price is θ·λ, with θ chosen by measured throughput.

    Attributes:
        objective: what gradients are worth.
        skip: share of the arrivals expected until the wake-up after which to look again; 0 looks at every arrival.
        patience: the choice of θ, used where late workers finish.
        calibration: scales expected arrivals where they are wrong beyond doubt.
        optimism: expected arrivals of n < 12 workers count 1 + optimism·(1 − n / 12) times. A round that closes too
            early never shows that it did, and few workers show little in any round. 0 takes the forecast as it is.
        crowd: with less than one in `crowd` of the workers in, a round stays open until 1.2 times the first arrival:
            one early worker of thousands says little of the others. 0 closes at any number.

    Example:
        >>> rule = Stopping()
    """

    objective: Objective = field(default_factory=Count)
    skip: float = 0.5
    patience: Patience = field(default_factory=Patience)
    calibration: Calibration = field(default_factory=Calibration)
    optimism: float = 0.0
    crowd: int = 0

    def __post_init__(self) -> None:
        if not 0.0 <= self.skip < 1.0:
            raise ParameterError(
                f"skip must be in [0, 1), but got {self.skip}. Use 0 to look at every arrival."
            )
        if not 0.0 <= self.optimism <= MAX_OPTIMISM:
            raise ParameterError(
                f"optimism must be between 0 and {MAX_OPTIMISM:g}, but got {self.optimism}. "
                "Use 0 to take forecasts as they are."
            )
        if self.crowd < 0:
            raise ParameterError(
                f"crowd must be 0 or more workers, but got {self.crowd}. Use 0 to close at any number of arrivals."
            )

    def start(self) -> StoppingMemory:
        """Return a memory in which no θ was tried and no forecast tested."""
        return StoppingMemory(self.patience.start(), self.calibration.start())

    def plan(self, memory: StoppingMemory, opening: Opening) -> StoppingPlan:
        """Work out the price of a second from this round's own forecast."""
        theta = self.patience.choice(memory.patience) if opening.late_finish else 1.0
        correction = self.calibration.correction(memory.tested)
        if opening.forecast is None:
            return StoppingPlan(None, 0.0, 0.0, 0.0, theta, correction)
        outlook = outlook_of(opening.forecast)
        price, horizon = self._price(outlook.usual(self.objective.needs_variance), opening.overhead)
        home = outlook.settled(self.objective.needs_variance)
        at_home = price if home is None else max(price, self._price(home, opening.overhead)[0])
        return StoppingPlan(outlook, theta * price, theta * at_home, horizon, theta, correction)

    def _price(self, ahead: Future, overhead: Seconds) -> tuple[float, Seconds]:
        """Return the value of a second in rounds like this one, and the seconds to the best close."""
        value = self.objective.expected(ahead.arrivals, ahead.variance)
        seconds = ahead.waiting
        if ahead.nobody is not None:
            # A round without an arrival by d stays open until the first one.
            value = value + ahead.nobody
            seconds = seconds + until_somebody(ahead.times, ahead.nobody)
        rates = value / (seconds + overhead)
        best = int(np.argmax(rates))
        return float(rates[best]), float(ahead.times[best])

    def decide(self, plan: StoppingPlan, progress: Progress) -> Decision:
        """Wait until the moment of the largest gain, or close if none has any."""
        if plan.outlook is None:
            return Wait()
        ahead = plan.outlook.future(
            progress.elapsed, progress.arrivals, progress.gone, self.objective.needs_variance
        )
        if len(ahead.times) == 0:
            return self._give_up(progress)
        out = int(np.count_nonzero(np.isinf(progress.arrivals) & ~progress.gone))
        coming = plan.correction.applied(ahead.arrivals, ahead.times - progress.elapsed, out)
        if self.optimism:
            hoped = 1.0 + self.optimism * max(0.0, 1.0 - len(progress.arrivals) / FEW)
            coming = np.minimum(coming * hoped, float(out))
        have = np.array([float(progress.count)])
        value = self.objective.expected(have + coming, ahead.variance) - self.objective.value(have)
        price = plan.price + ahead.back * (plan.at_home - plan.price)
        gain = value - price * ahead.waiting
        best = int(np.argmax(gain))
        # At the opening no gain is positive without overhead, by the very choice of the price: one must begin.
        if gain[best] <= WORTH and progress.elapsed > 0.0:
            return self._give_up(progress)
        # Rounding must not decide: with all sure to come the sum is whole, give or take the last digit.
        look = progress.count + max(1, int(self.skip * coming[best] + WORTH))
        return Wait(count=look, until=float(ahead.times[best]))

    def worth_starting(self, plan: StoppingPlan, position: int, elapsed: Seconds) -> bool:
        """Return whether the work is likely done by the close; if not, the worker would be late again."""
        return plan.outlook is None or plan.outlook.chance(position, plan.horizon - elapsed) >= LIKELY

    def learn(self, memory: StoppingMemory, plan: StoppingPlan, record: RoundRecord) -> StoppingMemory:
        """Credit the θ that was used with what the round brought, and test the forecast on it."""
        patience = self.patience.learn(memory.patience, plan.patience, record)
        if plan.outlook is None:
            return StoppingMemory(patience, memory.tested)
        return StoppingMemory(patience, self.calibration.learn(memory.tested, plan.outlook, record))

    def _give_up(self, progress: Progress) -> Decision:
        """Close, unless no gradient is in, or only the first few of a crowd."""
        if not progress.count:
            return Wait(count=1)
        there = len(progress.arrivals) - int(np.count_nonzero(progress.gone))
        until = FIRST * float(progress.arrivals.min())
        if 0 < self.crowd * progress.count < there and progress.elapsed < until:
            return Wait(until=until)
        return Close()
