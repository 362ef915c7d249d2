"""The movement of the cutoff over a run, against a fixed cutoff: the readers' question 4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tailcut.study.parallel import Job
from tailcut.study.reproduce.bdsgd import PUBLISHED, WHOSE
from tailcut.study.reproduce.bdsgd.runs import Runs
from tailcut.study.reproduce.experiment import Experiment, Kept
from tailcut.study.reproduce.findings import Claim, Finding, Sheet
from tailcut.study.reproduce.judge import RATE, Measure, compared, mean
from tailcut.study.reproduce.timings import CLAIRVOYANT, STATIC

NAMES = (PUBLISHED, "bayes", STATIC, CLAIRVOYANT)
MOVES = 0.1
"""Share of the workers that the middle 90 % of the cutoffs must span to be said to move."""
READERS = "question 4"


@dataclass(frozen=True, slots=True)
class Motion:
    """The spread of a cutoff: 5th and 95th percentile, standard deviation in the first and second half."""

    low: float
    high: float
    before: float
    after: float

    @staticmethod
    def of(runs: Runs, name: str, kept: Kept) -> Motion:
        """Return the means over the seeds."""
        rows = [
            (*np.quantile(counts, (0.05, 0.95)), *(float(half.std()) for half in np.array_split(counts, 2)))
            for counts in runs.counts(name, kept)
        ]
        return Motion(*np.mean(rows, axis=0).tolist())


@final
@dataclass(frozen=True, slots=True)
class Cutoff(Experiment):
    """The experiment on cutoffs, which uses the runs of the throughput."""

    clusters: tuple[Runs, ...]
    key: str = "cutoff"

    def jobs(self, kept: Kept) -> list[Job[str, Any]]:
        """Return the jobs of the throughput that this experiment uses."""
        return [job for runs in self.clusters for job in runs.jobs(NAMES, kept)]

    def finding(self, kept: Kept) -> Finding:
        """Find whether the cutoff moves, whether it settles, and whether a fixed one is as good."""
        return Finding(
            key=self.key,
            title="How the cutoff moves, and whether a fixed one would do",
            setting=(
                "The runs of the throughput. The best static cutoff is chosen in hindsight for each sample, which "
                "nobody can do in earnest."
            ),
            claims=tuple(claim for runs in self.clusters for claim in _claims(runs, kept)),
            sheets=(Sheet(*_sheet(self.clusters, kept)),),
        )


def _claims(runs: Runs, kept: Kept) -> tuple[Claim, ...]:
    where, motion = runs.cluster, Motion.of(runs, PUBLISHED, kept)
    workers = runs.workers(kept)
    better = compared(
        RATE, (PUBLISHED, runs.rates(PUBLISHED, kept)), ("best static", runs.rates(STATIC, kept))
    )
    ours = compared(RATE, ("bayes", runs.rates("bayes", kept)), ("best static", runs.rates(STATIC, kept)))
    return (
        Claim(
            f"The cutoff of bdsgd moves with the cluster ({where}).",
            motion.high - motion.low >= MOVES * workers,
            f"5th to 95th percentile {motion.low:.0f} to {motion.high:.0f} of {workers}",
            WHOSE,
        ),
        Claim(
            f"It settles: in the second half it moves less than half as much as in the first ({where}).",
            motion.after < 0.5 * motion.before,
            f"standard deviation {motion.before:.1f}, then {motion.after:.1f}",
            READERS,
        ),
        Claim(
            f"A predicted cutoff gives more than the best static one in hindsight ({where}).",
            better.holds,
            better.figure,
            WHOSE,
        ),
        Claim(
            f"So does deciding during the round, bayes ({where}).",
            ours.holds,
            ours.figure,
            "tailcut",
        ),
    )


def _sheet(
    clusters: tuple[Runs, ...], kept: Kept
) -> tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]]:
    number = Measure(digits=1).number
    rows = []
    for runs in clusters:
        for name in NAMES:
            motion = Motion.of(runs, name, kept)
            middle = mean([float(counts.mean()) for counts in runs.counts(name, kept)])
            rows.append(
                (
                    f"{name}, {runs.cluster}",
                    number(middle),
                    f"{motion.low:.0f}–{motion.high:.0f}",
                    number(motion.before),
                    number(motion.after),
                )
            )
    headings = ("policy", "mean cutoff", "5th–95th percentile", "deviation, 1st half", "2nd half")
    return "Cutoffs, means over the seeds", headings, tuple(rows)
