"""The best number of backup workers when N + b = n is fixed, and how it scales with n."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

from tailcut.study.grid.config import Arm
from tailcut.study.parallel import Job
from tailcut.study.reproduce.chen import WHOSE, trade
from tailcut.study.reproduce.chen.iterations import Fit, Iterations, fitted
from tailcut.study.reproduce.chen.trade import UPDATES, Trade
from tailcut.study.reproduce.experiment import Bench, Experiment, Kept, missing
from tailcut.study.reproduce.findings import Claim, Finding
from tailcut.study.reproduce.judge import grows, mean
from tailcut.study.reproduce.timings import order_means
from tailcut.study.reproduce.trainings import Contest

LEAST_GAIN = 1.02
"""Factor by which the best number of backups must beat none, and three quarters, to count as an optimum."""
FEW = 0.1
"""Largest share of the workers at which backups are few; the paper had 4 of 100."""
CLOSE = 0.2
"""Largest relative error of the product against the measured time."""

Trades: TypeAlias = Mapping[tuple[str, int], Trade]


@final
@dataclass(frozen=True, slots=True)
class Backups(Experiment):
    """Updates by N from training, seconds per update by N and n from run times; their product by b = n − N.

    Attributes:
        bench: functions that turn names into objects, and the task.
        iterations: measurement of updates by N.
        clusters: names, without the number of workers.
        sizes: numbers of workers, increasing; claims are judged at the largest.
        batches: samples in a mini-batch; claims are judged at the first.
        rounds: rounds of run times from which seconds per update are computed.
        checked: numbers of backups at which the product is compared with trainings, on the first cluster.
        checked_size: number of workers in those trainings.
        seeds: number of those trainings.
        key: name of the experiment.
    """

    bench: Bench
    iterations: Iterations
    clusters: tuple[str, ...] = ("iid-pareto", "iid-lognormal", "xeon158")
    sizes: tuple[int, ...] = (25, 50, 100)
    batches: tuple[int, ...] = (1, 4)
    rounds: int = 4000
    checked: tuple[int, ...] = (0, 1, 3, 6, 12, 25)
    checked_size: int = 50
    seeds: int = 5
    key: str = "backups"

    def jobs(self, kept: Kept) -> list[Job[str, Any]]:
        """Return updates and run times first; then trainings with backups, at the tuned rates."""
        laws = [
            Job(self._law_key(cluster, n), order_means, (self.bench.makers, f"{cluster}:n={n}", self.rounds))
            for cluster in self.clusters
            for n in self.sizes
        ]
        left = [*self.iterations.jobs(kept), *missing(laws, kept)]
        if left:
            return left
        return [job for b in self.checked for job in self._contest(b, kept).jobs(kept)]

    def finding(self, kept: Kept) -> Finding:
        """Find the number of backups with the least time to converge."""
        measured = self.iterations.measured(kept)
        fit = fitted(measured)
        trades = self._trades(fit, self.batches[0], kept)
        others = [self._trades(fit, batch, kept) for batch in self.batches[1:]]
        far = self._trades(fit.unsaturated, 0, kept)
        every = [one for some in (far, trades, *others) for one in some.values()]
        checks = {b: self._contest(b, kept).seconds(_arm_name(b), kept) for b in self.checked}
        largest = self.sizes[-1]
        times = {cluster: self._times(cluster, largest, kept) for cluster in self.clusters}
        checked = trades[self.clusters[0], self.checked_size]
        return Finding(
            key=self.key,
            title="How many backups are best, and how that scales",
            setting=(
                "N + b = n fixed; time to converge = updates(N) · E[x_(N) of n]. Updates to the target of "
                f"{self.bench.what} are measured with the learning rate tuned for every size and fitted by "
                f"{fit.least:.1f} + {fit.extra:.0f}/S, S = N · m samples; claims are judged for mini-batches of m = "
                f"{self.batches[0]}. Run times are those of {', '.join(self.clusters)} "
                f"({self.rounds} rounds each), which are not the paper's."
            ),
            claims=(
                _tail(times),
                _fewer(measured),
                *(claim for c in self.clusters for claim in _best(trades[c, largest], far[c, largest])),
                self._scaling(trades),
                _predicts(checked, checks),
            ),
            sheets=(trade.best_sheet(every), trade.updates_sheet(measured, fit)),
            plots=(
                trade.curves_plot([trades[cluster, largest] for cluster in self.clusters]),
                trade.check_plot(checked, checks),
                trade.scaling_plot([*trades.values(), *far.values()]),
                trade.updates_plot(measured, fit),
                trade.order_plot(times),
            ),
        )

    def _trades(self, fit: Fit, batch: int, kept: Kept) -> Trades:
        """Return the trades by cluster and size; a batch of 0 stands for updates in proportion to 1/N."""
        regime = f"m = {batch}" if batch else "∝ 1/N"
        return {
            (cluster, n): Trade.of(cluster, regime, self._times(cluster, n, kept), fit, max(batch, 1))
            for cluster in self.clusters
            for n in self.sizes
        }

    def _contest(self, b: int, kept: Kept) -> Contest:
        policy = f"backup:b={b}" if b else "wait-all"
        rate = self.iterations.tuned((self.checked_size - b) * self.batches[0], kept)
        return Contest(
            key=self.key,
            bench=self.bench,
            cluster=f"{self.clusters[0]}:n={self.checked_size}",
            arms=(Arm(_arm_name(b), (policy,), "fixed", (rate,)),),
            budget=math.inf,
            rounds=self.iterations.most,
            tune_rounds=self.iterations.most,
            rates=(rate,),
            optimiser="rmsprop",
            seeds=self.seeds,
            tune_seeds=0,
            batch=self.batches[0],
            beyond=False,
        )

    def _scaling(self, trades: Trades) -> Claim:
        shown, holds = [], []
        for cluster in self.clusters:
            bests = [trades[cluster, n].best for n in self.sizes]
            holds.append(grows([float(b) for b in bests]))
            parts = (f"{b} of {n} ({100 * b / n:.0f} %)" for b, n in zip(bests, self.sizes, strict=True))
            shown.append(f"{cluster}: {', '.join(parts)}")
        return Claim(
            "The best number of backups grows with the number of workers.",
            all(holds),
            "; ".join(shown),
            "question 13",
        )

    def _times(self, cluster: str, n: int, kept: Kept) -> list[float]:
        found: list[float] = kept[self._law_key(cluster, n)]["mean"]
        return found

    def _law_key(self, cluster: str, n: int) -> str:
        return f"law/{cluster}/{n}/{self.rounds}"


def _tail(times: Mapping[str, Sequence[float]]) -> Claim:
    shown, holds = [], []
    for cluster, seconds in times.items():
        n = len(seconds)
        half, most, last = seconds[n // 2 - 1], seconds[9 * n // 10 - 1], seconds[-1]
        holds.append(last - most > most - half)
        shown.append(f"{cluster}: half in {half:.2f} s, nine tenths in {most:.2f} s, all in {last:.2f} s")
    return Claim(
        "Most time goes by waiting for the last few: the last tenth takes longer than the four tenths before it.",
        all(holds),
        "; ".join(shown),
        WHOSE,
    )


def _fewer(measured: Mapping[int, Sequence[float]]) -> Claim:
    means = [mean(values) for values in measured.values()]
    half = len(means) // 2
    early, late = means[0] / means[half], means[half] / means[-1]
    return Claim(
        "More gradients in an update need fewer updates, and the more there are the less they save.",
        early > late > 1.0,
        "; ".join(f"{count} samples: {UPDATES.number(mean(values))}" for count, values in measured.items()),
        WHOSE,
    )


def _best(found: Trade, far: Trade) -> tuple[Claim, Claim]:
    n, b, none, many = found.n, found.best, found.over_best(0), found.over_best(found.many)
    return (
        Claim(
            f"The time to converge has its minimum between no backups and many ({found.cluster}).",
            0 < b < n - 1 and none >= LEAST_GAIN and many >= LEAST_GAIN,
            f"b* = {b} of {n}; no backups take {none:.2f} times as long, {found.many} backups {many:.2f} times",
            WHOSE,
        ),
        Claim(
            f"A few backups are best: at most a tenth of the workers ({found.cluster}).",
            0 < b <= FEW * n,
            f"b* = {b} of {n}; {found.papers} backups, the paper's share, take "
            f"{found.over_best(found.papers):.2f} times as long; with updates ∝ 1/N b* = {far.best}",
            WHOSE,
        ),
    )


def _predicts(found: Trade, checks: Mapping[int, Sequence[float]]) -> Claim:
    ratios = {b: mean(values) / found.seconds[b] for b, values in checks.items()}
    return Claim(
        f"Updates(N) · E[x_(N) of n] tells the time to converge within {100 * CLOSE:.0f} %.",
        all(abs(ratio - 1.0) <= CLOSE for ratio in ratios.values()),
        f"trained over product, {found.cluster} with {found.n} workers: "
        + "; ".join(f"b = {b}: {ratio:.2f}" for b, ratio in ratios.items()),
        WHOSE,
    )


def _arm_name(b: int) -> str:
    return f"b={b}"
