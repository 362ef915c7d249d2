"""Choose θ, how much less a second costs when cut workers finish anyway, by measured throughput."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

from tailcut.errors import ParameterError
from tailcut.types import RoundRecord, Seconds


@dataclass(frozen=True, slots=True)
class PatienceMemory:
    """Discounted value and seconds under each θ, the θ being tried, its rounds so far, and blocks so far."""

    values: tuple[float, ...]
    seconds: tuple[Seconds, ...]
    current: int
    rounds: int
    turn: int


@final
@dataclass(frozen=True, slots=True)
class Patience:
    """A search for the best θ: it tries the neighbors of the best one so far, each for a block of rounds.

    What a round brings per second has one peak over θ, so what lies beyond a worse neighbor is not tried. The first
    rounds of a block still carry what the previous θ left behind and are not counted. Every `revisit` blocks a
    neighbor is tried again, since clusters change.

    Attributes:
        thetas: falling or rising, so that neighbors are alike; the middle one is tried first. A cut worker that
            finishes is lost to the next round too, so a second costs less than the forecast of one round says.
        block: rounds of a trial.
        settle: first rounds of a trial that are not counted.
        revisit: blocks between two later trials.
        keep: factor on the sums of a θ when it is tried again.
    """

    thetas: tuple[float, ...] = (1.0, 0.8, 0.6, 0.45)
    block: int = 12
    settle: int = 3
    revisit: int = 8
    keep: float = 0.5

    def __post_init__(self) -> None:
        if not self.thetas or min(self.thetas) <= 0.0:
            raise ParameterError(
                f"thetas must be positive, but got {self.thetas}. Try (1.0, 0.8, 0.6, 0.45)."
            )
        if not 0 <= self.settle < self.block:
            raise ParameterError(
                f"settle must be at least 0 and less than block, but got {self.settle} and {self.block}."
            )

    def start(self) -> PatienceMemory:
        """Return a memory in which no θ was tried."""
        zeros = (0.0,) * len(self.thetas)
        return PatienceMemory(zeros, zeros, current=len(self.thetas) // 2, rounds=0, turn=0)

    def choice(self, memory: PatienceMemory) -> float:
        """Return the θ to use now."""
        return self.thetas[memory.current]

    def learn(self, memory: PatienceMemory, theta: float, record: RoundRecord) -> PatienceMemory:
        """Count the round for the θ it was planned with; at the end of a block choose the next."""
        values, seconds = list(memory.values), list(memory.seconds)
        if memory.rounds >= self.settle and theta == self.thetas[memory.current]:
            values[memory.current] += record.value
            seconds[memory.current] += record.elapsed + record.overhead
        after = replace(memory, values=tuple(values), seconds=tuple(seconds), rounds=memory.rounds + 1)
        return self._next_block(after) if after.rounds >= self.block else after

    def _next_block(self, memory: PatienceMemory) -> PatienceMemory:
        rates = [v / s if s else 0.0 for v, s in zip(memory.values, memory.seconds, strict=True)]
        best = max(range(len(rates)), key=lambda i: rates[i])
        near = [i for i in (best + 1, best - 1) if 0 <= i < len(rates)]
        untried = [i for i in near if memory.seconds[i] == 0.0]
        turn = memory.turn + 1
        if untried:
            chosen = untried[0]
        elif near and turn % self.revisit == 0:
            chosen = near[(turn // self.revisit) % len(near)]
        else:
            chosen = best
        # A θ that is tried again is judged mostly by the new trial.
        values, seconds = list(memory.values), list(memory.seconds)
        values[chosen] *= self.keep
        seconds[chosen] *= self.keep
        return PatienceMemory(tuple(values), tuple(seconds), chosen, rounds=0, turn=turn)
