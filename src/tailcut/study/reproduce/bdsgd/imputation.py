"""The effects of the published imputation of cut workers, on the throughput and on the model's belief."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tailcut.forecast.bdsgd.forecaster import Bdsgd
from tailcut.study.grid.makers import Makers
from tailcut.study.lessons import closed_rounds
from tailcut.study.parallel import Job
from tailcut.study.reproduce.bdsgd import CLOSED, PUBLISHED
from tailcut.study.reproduce.bdsgd.runs import Runs
from tailcut.study.reproduce.experiment import Experiment, Kept, missing
from tailcut.study.reproduce.findings import Claim, Finding, Line, Plot, Sheet
from tailcut.study.reproduce.judge import Measure, mean
from tailcut.study.reproduce.timings import published

COST, BIAS = 0.01, 0.05
"""Largest loss of throughput, and largest bias of imputed run times, that count as none, as shares."""
LEVELS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)


@final
@dataclass(frozen=True, slots=True)
class Imputation(Experiment):
    """The published policy with imputed run times, against the same policy that is given all run times."""

    clusters: tuple[Runs, ...]
    key: str = "imputation"

    def jobs(self, kept: Kept) -> list[Job[str, Any]]:
        """Return the runs of the throughput, and jobs that collect imputed run times."""
        left = [job for runs in self.clusters for job in runs.jobs((PUBLISHED, CLOSED), kept)]
        if left:
            return left
        return missing(
            [
                Job(
                    self._key(runs, seed),
                    imputed,
                    (
                        runs.bench.makers,
                        runs.cluster,
                        published(runs.bench, runs.cluster, closed=True),
                        seed,
                        runs.rounds,
                        runs.warm_up,
                    ),
                )
                for runs in self.clusters
                for seed in range(runs.seeds)
            ],
            kept,
        )

    def finding(self, kept: Kept) -> Finding:
        """Find the cost of the imputation, and whether it is right on average."""
        return Finding(
            key=self.key,
            title="What imputing cut workers does",
            setting=(
                "`see=closed`: a worker that was cut is imputed by a draw from its own predictive law above the close, "
                "as published. `see=all`: it is told the true run time, as no real run could be. Same samples, same "
                "model."
            ),
            claims=tuple(claim for runs in self.clusters for claim in self._claims(runs, kept)),
            sheets=(self._sheet(kept),),
            plots=tuple(self._plot(runs, kept) for runs in self.clusters),
        )

    def _claims(self, runs: Runs, kept: Kept) -> tuple[Claim, Claim]:
        shares = runs.shares(CLOSED, kept, of=PUBLISHED)
        ratios = self._ratios(runs, kept)
        told = Measure(digits=3, more=True)
        return (
            Claim(
                f"Imputing cut workers costs no throughput to speak of, at most 1 % ({runs.cluster}).",
                mean(shares) >= 1.0 - COST,
                f"see=closed over see=all: {told.told(shares)}",
                "question 6",
            ),
            Claim(
                f"Imputed run times are right on average, within 5 % ({runs.cluster}).",
                abs(mean(ratios) - 1.0) <= BIAS,
                f"mean imputed over mean true run time of cut workers: {told.told(ratios)}",
                "question 6",
            ),
        )

    def _ratios(self, runs: Runs, kept: Kept) -> list[float]:
        found = [kept[self._key(runs, seed)] for seed in range(runs.seeds)]
        return [one["imputed_mean"] / one["true_mean"] for one in found]

    def _sheet(self, kept: Kept) -> Sheet:
        rows, number = [], Measure(digits=2).number
        for runs in self.clusters:
            found = [kept[self._key(runs, seed)] for seed in range(runs.seeds)]
            rows.append(
                (
                    runs.cluster,
                    f"{100 * mean([one['cut'] for one in found]):.0f} %",
                    number(mean([one["true_mean"] for one in found])),
                    number(mean([one["imputed_mean"] for one in found])),
                    *(
                        f"{number(mean([one['true'][k] for one in found]))} / "
                        f"{number(mean([one['imputed'][k] for one in found]))}"
                        for k in (3, 5, 6)
                    ),
                )
            )
        headings = ("cluster", "cut", "true mean", "imputed mean", "median", "90 %", "95 %: true / imputed")
        return Sheet("Run times of cut workers in seconds, true and imputed", headings, tuple(rows))

    def _plot(self, runs: Runs, kept: Kept) -> Plot:
        one = kept[self._key(runs, 0)]
        x = tuple(100.0 * level for level in LEVELS)
        return Plot(
            f"Run times of cut workers, {runs.cluster}",
            "Quantiles, first seed. Grey: the true ones.",
            "per cent of the cut workers",
            "seconds",
            (Line("true", x, tuple(one["true"]), look="bound"), Line("imputed", x, tuple(one["imputed"]))),
            y_log=True,
        )

    def _key(self, runs: Runs, seed: int) -> str:
        return f"{self.key}/{runs.cluster}/{runs.rounds}/{seed}"


def imputed(
    makers: Makers, cluster: str, policy: str, seed: int, rounds: int, warm_up: int
) -> dict[str, Any]:
    """Return means and quantiles of imputed and true run times of cut workers, and the share of these."""
    draw = makers.source(cluster).draw(seed, rounds)
    entrant = makers.entrant(policy)
    forecaster = entrant.policy.forecaster
    assert isinstance(forecaster, Bdsgd)
    belief, guesses, truths, cut = forecaster.start(), [np.zeros(0)], [np.zeros(0)], []
    for row, lesson in enumerate(closed_rounds(draw.table, entrant.policy, draw.overhead)):
        belief = forecaster.learn(belief, lesson.shown)
        unseen = lesson.shown.workers[~lesson.shown.observed]
        if row >= warm_up:
            guesses.append(belief.rounds[-1][unseen])
            truths.append(draw.table.seconds[row, unseen])
            cut.append(len(unseen) / draw.table.workers)
    guess, truth = np.concatenate(guesses), np.concatenate(truths)
    return {
        "cut": mean(cut),
        "imputed_mean": float(guess.mean()),
        "true_mean": float(truth.mean()),
        "imputed": np.quantile(guess, LEVELS).tolist(),
        "true": np.quantile(truth, LEVELS).tolist(),
    }
