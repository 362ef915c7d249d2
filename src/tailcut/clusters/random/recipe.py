"""The ingredients of a random cluster, in one frozen record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from tailcut.clusters.laws import Law
from tailcut.clusters.random.noise import Content, Sleepers, Spikes
from tailcut.clusters.random.states import Absences, SlowNodes, Spells, Step, Swing
from tailcut.types import Seconds


@final
@dataclass(frozen=True, slots=True)
class Recipe:
    """The ingredients of a random cluster; None where one is absent.

    Attributes:
        key: seed of what belongs to the cluster and not to a sample: fixed levels, and which workers a step changes.
        n: workers.
        unit: seconds that the median of the law stands for.
        law: law of a run time, median near 1, drawn anew for each worker and round.
        law_name: name of the law, with its spread.
        levels: standard deviation of the workers' fixed log levels; 0 where all workers are alike.
        content: a factor that all workers of a round share.
        spikes: single run times that are much longer.
        sleepers: a fixed number of workers that sleep in each round.
        nodes: nodes that slow down together.
        spells: workers that are slow for many rounds.
        swing: drift of the common level.
        step: a lasting change of some workers' run times.
        absences: workers that leave and return.
        tick: seconds that run times are rounded up to multiples of; 0 for exact clocks.
        overhead: seconds between a close and the next opening.
    """

    key: int
    n: int
    unit: Seconds
    law: Law
    law_name: str
    levels: float = 0.0
    content: Content | None = None
    spikes: Spikes | None = None
    sleepers: Sleepers | None = None
    nodes: SlowNodes | None = None
    spells: Spells | None = None
    swing: Swing | None = None
    step: Step | None = None
    absences: Absences | None = None
    tick: Seconds = 0.0
    overhead: Seconds = 0.0

    @property
    def extras(self) -> tuple[str, ...]:
        """The ingredients other than size and law, in a few words each, in a fixed order."""
        parts = (
            self.nodes,
            self.content,
            self.spikes,
            self.sleepers,
            self.spells,
            self.swing,
            self.step,
            self.absences,
        )
        told = [part.about for part in parts if part is not None]
        if self.levels > 0:
            told.insert(0, f"fixed levels ± {self.levels:.0%}")
        if self.tick > 0:
            told.append(f"clock ticks of {self.tick:.2g} s")
        if self.overhead > 0:
            told.append(f"overhead {self.overhead:.2g} s")
        return tuple(told)

    @property
    def about(self) -> str:
        """The cluster in one line."""
        return ", ".join([f"{self.n} workers", f"{self.law_name} around {self.unit:.2g} s", *self.extras])
