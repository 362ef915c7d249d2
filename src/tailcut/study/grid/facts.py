"""What a study found, as plain data: table, JSON and page are all drawn from these records."""

from __future__ import annotations

from dataclasses import dataclass

from tailcut.study.grid.collect import FinishedRun, Track
from tailcut.study.grid.statics import Against
from tailcut.study.statistics import Interval
from tailcut.types import FloatArray, Seconds


@dataclass(frozen=True, slots=True)
class TimeToTarget:
    """Virtual time to the target over seeds; a run that did not reach it counts as infinite.

    Attributes:
        each: of every seed.
        mean: infinite unless all reached it.
        interval: of the mean, by Student's t; where a run did not get there the upper end is infinite and the lower
            one that of the least the times can have been.
        at_least: the mean if runs that were not given the time had reached it at their end; infinite where one
            diverged, and equal to the mean where all reached it.
    """

    each: tuple[Seconds, ...]
    mean: Seconds
    interval: Interval
    at_least: Seconds

    @property
    def best(self) -> Seconds:
        """Of the fastest seed."""
        return min(self.each)

    @property
    def worst(self) -> Seconds:
        """Of the slowest seed."""
        return max(self.each)


@dataclass(frozen=True, slots=True, eq=False)
class ArmFacts:
    """How one arm did on one task and cluster. Figures are means over seeds, and of whole runs.

    Attributes:
        arm: what the study calls it.
        policies, rates: that its runs had; more than one only where runs of different tunings were mixed.
        rate_rule, optimiser: as its first run had it.
        seeds: of its finished runs.
        ends: seconds at which each run ended.
        reached, diverged: how many runs did.
        time: to the target.
        updates: to the target; NaN unless all runs reached it.
        cutoff: gradients in an update.
        idle: share of the time that workers waited for others.
        staleness: rounds that a used gradient lagged behind.
        bytes_sent: of all gradients that arrived.
        bytes_in_vain: of those among them that came too late.
        late: gradients that arrived too late.
        dropped: gradients that were begun and never arrived.
        least_served: accepted gradients of the worker with the fewest, over the mean of all workers.
        shares: `(workers,)` accepted gradients over the mean of all workers, sorted in each run.
        final: figures at the last look.
        tracks: what was seen on the way, one for each seed.
        against: the comparison with a best static arm; None where there is none, or this is it.
    """

    arm: str
    policies: tuple[str, ...]
    rates: tuple[float, ...]
    rate_rule: str
    optimiser: str
    seeds: tuple[int, ...]
    ends: tuple[Seconds, ...]
    reached: int
    diverged: int
    time: TimeToTarget
    updates: float
    cutoff: float
    idle: float
    staleness: float
    bytes_sent: float
    bytes_in_vain: float
    late: float
    dropped: float
    least_served: float
    shares: FloatArray
    final: dict[str, float]
    tracks: tuple[Track, ...]
    against: Against | None

    @property
    def runs(self) -> int:
        """How many are finished."""
        return len(self.seeds)


@dataclass(frozen=True, slots=True)
class Setting:
    """What the runs that may be compared have in common; attributes as in a `Head`."""

    task: str
    cluster: str
    workers: int
    batch: int
    parameters: int
    figure: str
    value: float
    at: str
    late: str
    overhead: Seconds
    requeue: bool

    @staticmethod
    def of(run: FinishedRun) -> Setting:
        """A run's."""
        head = run.head
        return Setting(
            head.task,
            head.cluster,
            head.workers,
            head.batch,
            head.parameters,
            head.figure,
            head.value,
            head.at,
            head.late,
            head.overhead,
            head.requeue,
        )


@dataclass(frozen=True, slots=True, eq=False)
class CaseFacts:
    """One task on one cluster.

    Attributes:
        setting: what all runs have in common.
        arms: in the order of the study.
        notes: whole sentences to show.
    """

    setting: Setting
    arms: tuple[ArmFacts, ...]
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """For headings."""
        return f"{self.setting.task} on {self.setting.cluster}"


@dataclass(frozen=True, slots=True, eq=False)
class StudyFacts:
    """All that a study found.

    Attributes:
        name: of the study.
        cases: tasks on clusters.
        arms: every arm's name, in the order of the study.
        notes: whole sentences on what was left out.
    """

    name: str
    cases: tuple[CaseFacts, ...]
    arms: tuple[str, ...]
    notes: tuple[str, ...]
