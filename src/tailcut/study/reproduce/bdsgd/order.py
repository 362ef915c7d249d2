"""Predicted against realized order statistics, from which the published cutoff is computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tailcut.counts import expected_order_statistics
from tailcut.forecast.base import Forecaster
from tailcut.study.grid.makers import Makers
from tailcut.study.parallel import Job
from tailcut.study.reproduce.bdsgd import PUBLISHED, WHOSE
from tailcut.study.reproduce.experiment import Bench, Experiment, Kept, missing
from tailcut.study.reproduce.findings import Claim, Finding, Line, Plot, Sheet
from tailcut.study.reproduce.judge import Measure, compared
from tailcut.study.reproduce.timings import model_jobs, published
from tailcut.table import Table
from tailcut.types import FloatArray, RunTimes

POSITIONS = 80
"""Most order statistics that are kept."""
NAMES = ("elfving", "empirical", PUBLISHED)
MISS = Measure("%", digits=1)


@dataclass(frozen=True, slots=True)
class Sample:
    """The samples of a cluster to forecast: rounds of each, first rounds left out, number of samples."""

    cluster: str
    rounds: int
    warm_up: int
    seeds: int


@final
@dataclass(frozen=True, slots=True)
class Order(Experiment):
    """Forecasts of each round from those before it, all run times known: E[x_(j)] against x_(j).

    Attributes:
        bench: functions that turn names into objects.
        samples: samples of each cluster.
        key: name of the experiment.
    """

    bench: Bench
    samples: tuple[Sample, ...]
    key: str = "order"

    def jobs(self, kept: Kept) -> list[Job[str, Any]]:
        """Return the forecasts of every forecaster on every sample."""
        training = model_jobs(self.bench, tuple(sample.cluster for sample in self.samples))
        if training:
            return training
        makers = self.bench.makers
        return missing(
            [
                Job(
                    self._key(sample, name, seed),
                    forecast_order,
                    (makers, sample.cluster, self._spec(sample, name), seed, sample.rounds, sample.warm_up),
                )
                for sample in self.samples
                for name in reversed(NAMES)
                for seed in range(sample.seeds)
            ],
            kept,
        )

    def finding(self, kept: Kept) -> Finding:
        """Find the forecaster whose order statistics come closest."""
        sizes = "; ".join(f"{s.cluster}: {s.seeds} seeds of {s.rounds} rounds" for s in self.samples)
        return Finding(
            key=self.key,
            title="Predicted and realised order statistics",
            setting=f"{sizes}; each round is forecast from those before it, every run time known afterwards.",
            claims=tuple(claim for sample in self.samples for claim in self._claims(sample, kept)),
            sheets=(self._sheet(kept),),
            plots=tuple(plot for sample in self.samples for plot in self._plots(sample, kept)),
        )

    def misses(self, sample: Sample, name: str, kept: Kept) -> list[float]:
        """Return the mean absolute miss by seed, in percent of the realized mean."""
        return [
            100.0 * float(np.mean(np.array(run["miss"]) / np.array(run["realised"])))
            for run in self._runs(sample, name, kept)
        ]

    def _claims(self, sample: Sample, kept: Kept) -> tuple[Claim, ...]:
        claims = []
        for rival, text in (
            ("elfving", "Elfving's formula with recent moments"),
            ("empirical", "a plain empirical distribution"),
        ):
            ours = (PUBLISHED, self.misses(sample, PUBLISHED, kept))
            verdict = compared(MISS, ours, (rival, self.misses(sample, rival, kept)))
            claims.append(
                Claim(
                    f"The deep model's order statistics come closer than {text} ({sample.cluster}).",
                    verdict.holds,
                    f"mean absolute miss: {verdict.figure}",
                    WHOSE if rival == "elfving" else "question 5",
                )
            )
        return tuple(claims)

    def _sheet(self, kept: Kept) -> Sheet:
        rows = []
        for sample in self.samples:
            for name in NAMES:
                runs = self._runs(sample, name, kept)
                off = np.mean([np.array(r["expected"]) / np.array(r["realised"]) - 1.0 for r in runs], axis=0)
                ends = (100.0 * float(off[k]) for k in (0, len(off) // 2, 9 * len(off) // 10, -1))
                rows.append(
                    (
                        f"{name}, {sample.cluster}",
                        MISS.told(self.misses(sample, name, kept)),
                        *(f"{end:+.1f} %" for end in ends),
                    )
                )
        headings = ("forecaster", "mean absolute miss", "bias, first", "median", "90 %", "last arrival")
        return Sheet("How far E[x_(j)] is off, in per cent of the realised mean", headings, tuple(rows))

    def _plots(self, sample: Sample, kept: Kept) -> tuple[Plot, Plot]:
        first = {name: self._runs(sample, name, kept)[0] for name in NAMES}
        one = first[PUBLISHED]
        x = tuple(float(j) for j in one["positions"])
        truth = Line("realised", x, tuple(one["realised"]), look="bound")
        expected = tuple(Line(name, x, tuple(run["expected"])) for name, run in first.items())
        misses = tuple(
            Line(name, x, tuple((100.0 * np.array(run["miss"]) / np.array(run["realised"])).tolist()))
            for name, run in first.items()
        )
        return (
            Plot(
                f"E[x_(j)] and the mean of x_(j), {sample.cluster}",
                "First seed, means over the rounds. Grey: realised.",
                "arrival j",
                "seconds",
                (truth, *expected),
                y_log=True,
            ),
            Plot(
                f"Miss by arrival, {sample.cluster}",
                "Mean absolute difference between E[x_(j)] and x_(j), first seed.",
                "arrival j",
                "miss, % of the realised mean",
                misses,
                y_log=True,
            ),
        )

    def _runs(self, sample: Sample, name: str, kept: Kept) -> list[dict[str, Any]]:
        return [kept[self._key(sample, name, seed)] for seed in range(sample.seeds)]

    def _spec(self, sample: Sample, name: str) -> str:
        return published(self.bench, sample.cluster) if name == PUBLISHED else name

    def _key(self, sample: Sample, name: str, seed: int) -> str:
        return f"{self.key}/{sample.cluster}/{name}/{sample.rounds}/{seed}"


def forecast_order(
    makers: Makers, cluster: str, policy: str, seed: int, rounds: int, warm_up: int
) -> dict[str, list[float]]:
    """Return expected and realized order statistics at some positions, means after the warm-up."""
    table = makers.source(cluster).draw(seed, rounds).table
    forecaster = makers.entrant(policy).policy.forecaster
    expected = expected_orders(table, forecaster)[warm_up:]
    realised = np.sort(table.seconds, axis=1)[warm_up:]
    n = table.workers
    positions = np.unique(np.linspace(1, n, min(n, POSITIONS)).round().astype(int))
    expected, realised = expected[:, positions - 1], realised[:, positions - 1]
    return {
        "positions": positions.astype(float).tolist(),
        "expected": np.nanmean(expected, axis=0).tolist(),
        "realised": realised.mean(axis=0).tolist(),
        "miss": np.nanmean(np.abs(expected - realised), axis=0).tolist(),
    }


def expected_orders(table: Table, forecaster: Forecaster[Any]) -> FloatArray:
    """`(rounds, workers)` E[x_(j)] of each round, from the rounds before it; NaN where there is no forecast yet."""
    out = np.full(table.seconds.shape, np.nan)
    belief = forecaster.start()
    for row, seconds in enumerate(table.seconds):
        roster = table.roster(row)
        forecast = forecaster.forecast(belief, roster)
        if forecast is not None:
            means = forecast.order_means
            out[row] = expected_order_statistics(forecast) if means is None else means
        seen = RunTimes(roster.workers, seconds, np.ones(len(roster), dtype=np.bool_), roster.nodes)
        belief = forecaster.learn(belief, seen)
    return out
