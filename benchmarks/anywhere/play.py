"""Cases, each a table and how it is played, spread over processes; rates of policies and of the hindsight bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from rich.console import Console
from rich.progress import Progress

from benchmarks.anywhere.options import Options
from tailcut import names
from tailcut.bounds import best_deadline, best_static, clairvoyant
from tailcut.engines.simulated import Run, replay
from tailcut.forecast import NoForecast
from tailcut.policy import Policy
from tailcut.rules import WaitAll
from tailcut.study.compare import warmup_of
from tailcut.study.contest import Entrant
from tailcut.study.parallel import Job, each_done
from tailcut.table import Table
from tailcut.types import Seconds

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Case:
    """One table and how it is played.

    Attributes:
        group: the row of the printed table that the case belongs to.
        n: number of workers.
        seed: seed of the sample.
        draw: draws the table; a function of a module or a partial of one, so that another process can call it.
        overhead_share: overhead of a round, as a share of the median run time.
        late_finish: whether late workers finish their work, for policies and bounds alike.
        skip: rounds left out of the rates; None for min(50, 10 %).
    """

    group: str
    n: int
    seed: int
    draw: Callable[[], Table]
    overhead_share: float = 0.0
    late_finish: bool = False
    skip: int | None = None

    @property
    def label(self) -> str:
        """The text that `--only` is compared with."""
        mode = "finish" if self.late_finish else "overhead" if self.overhead_share else "plain"
        return f"{self.group} n={self.n} {mode} seed={self.seed}"


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates of one case, in gradients per second after the warm-up.

    Attributes:
        policies: policy to its rate.
        static: the best fixed cutoff in hindsight.
        deadline: the best fixed deadline in hindsight.
        wait_all: waiting for every worker.
        clairvoyant: the bound that knows each round's run times in advance; always in the abandon mode.
    """

    policies: Mapping[str, float]
    static: float
    deadline: float
    wait_all: float
    clairvoyant: float

    @property
    def best(self) -> float:
        """The better hindsight bound."""
        return max(self.static, self.deadline, self.wait_all)

    def share(self, policy: str) -> float:
        """Return the policy's rate over the better hindsight bound."""
        return self.policies[policy] / self.best

    def of_wait_all(self, policy: str) -> float:
        """Return the policy's rate over that of waiting for all."""
        return self.policies[policy] / self.wait_all


def hindsight(
    table: Table, overhead: Seconds = 0.0, late_finish: bool = False, skip: int = 0
) -> tuple[float, float, float]:
    """Return the rates of the best fixed cutoff, the best fixed deadline and of waiting for all."""
    waiting = play(table, Entrant("wait-all", Policy(NoForecast(), WaitAll())), overhead, late_finish)
    return (
        best_static(table, overhead, late_finish, skip).run.throughput(skip),
        best_deadline(table, overhead, late_finish, skip).run.throughput(skip),
        waiting.throughput(skip),
    )


def play(table: Table, entrant: Entrant, overhead: Seconds = 0.0, late_finish: bool = False) -> Run:
    """Play one policy through a table."""
    return replay(
        table,
        entrant.policy,
        late_finish=late_finish,
        overhead=overhead,
        acceptance=entrant.acceptance,
        micro=entrant.policy.micro,
        sees_all=entrant.policy.sees_all,
    )


def rates_of(case: Case, policies: Sequence[str]) -> Rates:
    """Play every policy and every bound on the table of a case."""
    table = case.draw()
    skip = warmup_of(case.skip, table.rounds)
    overhead = case.overhead_share * float(np.nanmedian(table.seconds))
    static, deadline, wait_all = hindsight(table, overhead, case.late_finish, skip)
    return Rates(
        policies={
            name: play(table, names.entrant(name), overhead, case.late_finish).throughput(skip)
            for name in policies
        },
        static=static,
        deadline=deadline,
        wait_all=wait_all,
        clairvoyant=clairvoyant(table, overhead).run.throughput(skip),
    )


@dataclass(slots=True)
class Done(Generic[T]):
    """Results by key in the order of the jobs, and whether Ctrl-C left some out."""

    results: dict[Any, T] = field(default_factory=dict)
    interrupted: bool = False

    def or_stop(self) -> None:
        """Raise if results are missing, once those that are there are printed.

        Raises:
            KeyboardInterrupt: some are missing.
        """
        if self.interrupted:
            raise KeyboardInterrupt


def spread(
    what: str,
    jobs: Sequence[Job[Any, T]],
    processes: int | None,
    line: Callable[[Any, T], str] | None = None,
) -> Done[T]:
    """Run all jobs behind a progress bar.

    Args:
        what: shown beside the progress bar.
        jobs: jobs in the order in which they begin and in which results are listed.
        processes: number of processes; None for one per core, 0 or 1 for this one only.
        line: makes the line that is printed above the bar for each finished result.
    """
    found: dict[Any, T] = {}
    done: Done[T] = Done()
    bar = Progress(console=Console(stderr=True), transient=True)
    with bar:
        task = bar.add_task(what, total=len(jobs))
        try:
            for key, result in each_done(jobs, processes):
                found[key] = result
                bar.advance(task)
                if line is not None:
                    bar.console.print(line(key, result), markup=False, highlight=False)
        except KeyboardInterrupt:
            print(f"Interrupted: {len(found)} of {len(jobs)} had ended.")
            done.interrupted = True
    done.results = {job.key: found[job.key] for job in jobs if job.key in found}
    return done


def play_all(what: str, cases: Sequence[Case], options: Options) -> Done[Rates]:
    """Play the cases that the options ask for; results by case."""
    chosen = sorted((case for case in cases if options.takes(case.label)), key=lambda case: -case.n)
    jobs = [Job(case, rates_of, (case, options.policies)) for case in chosen]
    return spread(what, jobs, options.jobs, lambda case, rates: _line(case, rates, options.policies))


def _line(case: Case, rates: Rates, policies: Sequence[str]) -> str:
    shares = ", ".join(f"{name} {rates.share(name):.4f}" for name in policies)
    return f"{case.label}: of the better bound {shares}"


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean; NaN of nothing."""
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else math.nan


def spread_cell(values: Sequence[float]) -> str:
    """Return a table cell: geometric mean and, in brackets, the least; empty for no values."""
    if not values:
        return ""
    return f"{geometric_mean(values):.4f} ({min(values):.3f})"
