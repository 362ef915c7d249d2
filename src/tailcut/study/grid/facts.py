"""The results of a study as plain data, from which the table, the JSON and the page are made."""

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
        each: seconds of every seed.
        mean: mean of the seconds, infinite unless all runs reached the target.
        interval: interval of the mean, by Student's t; where a run did not reach the target the upper end is
            infinite, and the lower end is that of the least possible times.
        at_least: mean if unfinished runs had reached the target when they ended; infinite where a run
            diverged, and equal to the mean where all reached it.
    """

    each: tuple[Seconds, ...]
    mean: Seconds
    interval: Interval
    at_least: Seconds

    @property
    def best(self) -> Seconds:
        """The seconds of the fastest seed."""
        return min(self.each)

    @property
    def worst(self) -> Seconds:
        """The seconds of the slowest seed."""
        return max(self.each)


@dataclass(frozen=True, slots=True, eq=False)
class ArmFacts:
    """The results of one arm on one task and cluster. Figures are means over seeds, of whole runs.

    Attributes:
        arm: its name in the study.
        policies, rates: those of its runs; more than one only where runs of different tunings were mixed.
        rate_rule, optimiser: those of its first run.
        seeds: seeds of its finished runs.
        ends: seconds at which each run ended.
        reached, diverged: number of runs that reached the target, and that diverged.
        time: time to the target.
        updates: updates to the target; NaN unless all runs reached it.
        cutoff: gradients in an update.
        idle: share of the time that workers waited for others.
        staleness: rounds that a used gradient lagged behind.
        bytes_sent: bytes of all gradients that arrived.
        bytes_in_vain: bytes of those that arrived too late.
        late: gradients that arrived too late.
        dropped: gradients that were begun and never arrived.
        least_served: accepted gradients of the worker with the fewest, over the mean of all workers.
        shares: `(workers,)` accepted gradients over the mean of all workers, sorted in each run.
        final: figures at the last evaluation.
        tracks: evaluations along the run, one track for each seed.
        against: comparison with the best static arm; None where there is none, or for that arm itself.
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
        """The number of finished runs."""
        return len(self.seeds)


@dataclass(frozen=True, slots=True)
class Setting:
    """The settings that runs must share to be compared; attributes as in a `Head`."""

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
        """Return the setting of a run."""
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
        setting: settings that all runs share.
        arms: results of the arms, in the order of the study.
        notes: whole sentences to show.
    """

    setting: Setting
    arms: tuple[ArmFacts, ...]
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the case, for headings."""
        return f"{self.setting.task} on {self.setting.cluster}"


@dataclass(frozen=True, slots=True, eq=False)
class StudyFacts:
    """All results of a study.

    Attributes:
        name: name of the study.
        cases: results of each task on each cluster.
        arms: every arm's name, in the order of the study.
        notes: whole sentences on runs and files that were left out.
    """

    name: str
    cases: tuple[CaseFacts, ...]
    arms: tuple[str, ...]
    notes: tuple[str, ...]
