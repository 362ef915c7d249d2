"""Gradients per second of the published policy, of other policies and of the bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from tailcut.study.parallel import Job
from tailcut.study.reproduce.bdsgd import PUBLISHED, WHOSE
from tailcut.study.reproduce.bdsgd.runs import BOUNDS, POLICIES, Runs
from tailcut.study.reproduce.experiment import Experiment, Kept
from tailcut.study.reproduce.findings import Claim, Finding, Plot, Sheet
from tailcut.study.reproduce.judge import RATE, SHARE, Measure, compared, mean
from tailcut.study.reproduce.timings import CLAIRVOYANT, STATIC

DRAWN = ("wait-all", "backup", "elfving", "empirical", PUBLISHED, "bayes", CLAIRVOYANT)


@final
@dataclass(frozen=True, slots=True)
class Throughput(Experiment):
    """The throughput of all policies and bounds on every cluster."""

    clusters: tuple[Runs, ...]
    key: str = "throughput"

    def jobs(self, kept: Kept) -> list[Job[str, Any]]:
        """Return the jobs of all clusters; the largest cluster, last in the tuple, comes first."""
        everybody = (*BOUNDS, *POLICIES)
        return [job for runs in reversed(self.clusters) for job in runs.jobs(everybody, kept)]

    def finding(self, kept: Kept) -> Finding:
        """Find the policies with the highest throughput."""
        sizes = "; ".join(f"{r.cluster}: {r.seeds} seeds of {r.rounds} rounds" for r in self.clusters)
        return Finding(
            key=self.key,
            title="Throughput on the 158- and the 2,175-worker cluster",
            setting=(
                f"{sizes}, the first ones of each left out of the rates. `bdsgd` was trained beforehand on 400 fully "
                "observed rounds of another sample; `elfving`, `empirical` and `bdsgd` are told all run times after "
                "each round, as the paper assumes. Run times are simulated: nodes that slow down at random, and "
                "spikes. With two modes the one normal law of `elfving` reaches below 0; no arrival is expected sooner "
                "than the fastest run time of its window."
            ),
            claims=tuple(claim for runs in self.clusters for claim in _claims(runs, kept)),
            sheets=tuple(_sheet(runs, kept) for runs in self.clusters),
            plots=tuple(plot for runs in self.clusters for plot in _plots(runs, kept)),
        )


def _claims(runs: Runs, kept: Kept) -> tuple[Claim, ...]:
    where = runs.cluster

    def judged(text: str, whose: str, one: str, other: str) -> Claim:
        verdict = compared(RATE, (one, runs.rates(one, kept)), (other, runs.rates(other, kept)))
        return Claim(f"{text} ({where}).", verdict.holds, verdict.figure, whose)

    more = "more gradients per second than"
    return (
        judged(
            f"Dropping stragglers by prediction gives {more} waiting for all", WHOSE, PUBLISHED, "wait-all"
        ),
        judged(f"It gives {more} a fixed cutoff of 96 %", WHOSE, PUBLISHED, "backup"),
        judged(f"It gives {more} Elfving's formula with recent moments", WHOSE, PUBLISHED, "elfving"),
        judged(f"It gives {more} a plain empirical distribution", "question 5", PUBLISHED, "empirical"),
        judged(f"Deciding during the round (bayes) gives {more} bdsgd", "tailcut", "bayes", PUBLISHED),
    )


def _sheet(runs: Runs, kept: Kept) -> Sheet:
    workers = runs.workers(kept)
    policies = sorted(POLICIES, key=lambda name: -mean(runs.rates(name, kept)))
    rows = tuple(
        (
            name,
            RATE.told(runs.rates(name, kept)),
            SHARE.told(runs.shares(name, kept)),
            SHARE.told(runs.shares(name, kept, of=STATIC)),
            f"{mean([float(counts.mean()) for counts in runs.counts(name, kept)]):.0f}/{workers}",
            Measure("%", digits=0).number(100.0 * mean([run["idle"] for run in runs.of(name, kept)])) + " %",
        )
        for name in (*policies, *BOUNDS)
    )
    headings = ("policy", "throughput", "of clairvoyant", "of best static", "mean cutoff", "idle")
    return Sheet(f"{runs.cluster}: mean (worst–best) of {runs.seeds} seeds", headings, rows)


def _plots(runs: Runs, kept: Kept) -> tuple[Plot, Plot]:
    caption = f"Means of {runs.window} rounds, first seed. Grey: the clairvoyant."
    return (
        Plot(
            f"Throughput over time, {runs.cluster}",
            caption,
            "round",
            "gradients per second",
            tuple(runs.rate_line(name, kept) for name in DRAWN),
        ),
        Plot(
            f"Cutoff over time, {runs.cluster}",
            caption,
            "round",
            "gradients used per round",
            tuple(runs.cutoff_line(name, kept) for name in DRAWN),
        ),
    )
