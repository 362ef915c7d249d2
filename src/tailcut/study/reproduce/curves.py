"""Tables and curves of trainings that are compared on one cluster."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tailcut.study.reproduce.experiment import Kept
from tailcut.study.reproduce.findings import Line, Plot, Sheet
from tailcut.study.reproduce.judge import ACCURACY, SECONDS, Measure, mean
from tailcut.study.reproduce.trainings import Contest
from tailcut.types import FloatArray

POINTS = 60
"""Number of times at which curves of several seeds are averaged."""
HEADINGS = (
    "arm",
    "policy",
    "rate",
    "time to target",
    "reached",
    "final accuracy",
    "gradients / update",
    "staleness",
    "idle",
)


def arms_sheet(contest: Contest, kept: Kept) -> Sheet:
    """Return the table of all arms, the soonest first."""
    names = sorted((arm.name for arm in contest.arms), key=lambda name: mean(contest.seconds(name, kept)))
    rows = tuple(_row(contest, name, kept) for name in names)
    return Sheet(f"{contest.cluster}: mean (worst–best) of {contest.seeds} seeds", HEADINGS, rows)


def _row(contest: Contest, name: str, kept: Kept) -> tuple[str, ...]:
    arm = next(arm for arm in contest.arms if arm.name == name)
    policy, rate = contest.chosen(arm, kept)
    runs, seconds = contest.runs(name, kept), contest.seconds(name, kept)
    per_update = [run["gradients"] / max(run["updates"], 1) for run in runs]
    return (
        name,
        policy.partition(":model=")[0],
        f"{rate:g}",
        SECONDS.told(seconds),
        f"{sum(map(math.isfinite, seconds))} of {len(seconds)}",
        ACCURACY.told(contest.finals(name, kept)),
        Measure(digits=1).number(mean(per_update)),
        Measure(digits=1).number(mean([run["staleness"] for run in runs])),
        f"{100 * mean([run['idle'] for run in runs]):.0f} %",
    )


def edges(contests: Sequence[Contest], kept: Kept) -> str:
    """Return a sentence on arms whose best rate was the smallest or largest tried; empty for none."""
    at_edge = [
        f"{arm.name} on {contest.cluster}"
        for contest in contests
        for arm in contest.arms
        if contest.at_edge(arm, kept)
    ]
    if not at_edge:
        return ""
    return f"The best rate was the smallest or largest that was tried for: {'; '.join(at_edge)}."


def accuracy_plot(contest: Contest, kept: Kept) -> Plot:
    """Return the plot of test accuracy against virtual time, averaged over the seeds."""
    moments = np.linspace(0.0, contest.budget, POINTS + 1)[1:]
    lines = []
    for arm in contest.arms:
        curves = np.stack([_at(run, moments) for run in contest.runs(arm.name, kept)])
        lines.append(
            Line(
                arm.name,
                tuple(moments.tolist()),
                tuple(curves.mean(axis=0).tolist()),
                tuple(curves.min(axis=0).tolist()),
                tuple(curves.max(axis=0).tolist()),
            )
        )
    return Plot(
        f"Training curves on {contest.cluster}",
        "Test accuracy against virtual time: mean of the seeds, the band from the worst to the best.",
        "virtual seconds",
        "test accuracy, %",
        tuple(lines),
    )


def _at(run: dict[str, Any], moments: FloatArray) -> FloatArray:
    """Return the newest figure at each moment, in percent; NaN before the first."""
    seconds = np.array([0.0, *run["seconds"]])
    values = np.array([np.nan, *(np.nan if value is None else value for value in run["figure"])])
    out: FloatArray = 100.0 * values[np.searchsorted(seconds, moments, side="right") - 1]
    return out
