"""Journals of made-up runs with known answers, written as a study writes them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tailcut.engines.simulated.meter import Point, Totals
from tailcut.engines.simulated.training import Trained
from tailcut.study.grid.journal import Head, Writer

INF = math.inf

HEAD = Head(
    task="digits",
    cluster="demo8",
    arm="bayes",
    policy="bayes",
    rate_rule="linear",
    rate=0.1,
    optimiser="momentum",
    seed=0,
    workers=4,
    batch=8,
    parameters=100,
    figure="accuracy",
    value=0.96,
    at="least",
    late="abandon",
    overhead=0.0,
    requeue=False,
)

STUDY = """\
name = "small"
tasks = ["digits"]
clusters = ["demo8"]
seeds = {seeds}
best_static = "best static"
arms = [
    {{ policy = "wait-all" }},
    {{ policies = ["backup:c=3", "backup:c=4"], name = "best static" }},
    {{ policies = ["backup:c=3", "backup:c=4"], name = "best static gain", rate_rule = "gain" }},
    {{ policy = "bayes" }},
    {{ policy = "bayes:objective=gain", name = "bayes gain" }},
]
"""


def points(seconds: float, count: int = 5, accuracy: float = 0.96, **changes: Any) -> list[Point]:
    """`count` looks at a run that learns evenly: the last one after `seconds` and 10 updates each."""
    shares = (np.arange(count) + 1.0) / count
    return [
        replace(
            Point(
                seconds=float(share * seconds),
                updates=10 * place,
                gradients=30.0 * place,
                figures={"loss": float(2.0 - 1.5 * share), "accuracy": float(accuracy * share)},
                train_loss=1.0,
                cutoff=3.0,
                rate=0.1,
                staleness=0.0,
                idle=0.25,
                noise=float(10.0 * place) if place > 1 else None,
            ),
            **changes,
        )
        for place, share in enumerate(shares, 1)
    ]


def totals(seconds: float, **changes: Any) -> Totals:
    """Return the totals of a run of 50 updates with 3 gradients each; worker 3 has the fewest."""
    usual = Totals(
        seconds=seconds,
        updates=50,
        gradients=150.0,
        late=10,
        dropped=40,
        idle=0.25,
        staleness=0.5,
        accepted=np.array([45, 45, 40, 20]),
    )
    return replace(usual, **changes)


def trained(
    seconds: float,
    seen: Sequence[Point],
    *,
    ending: str = "reached",
    ended: float | None = None,
    **changes: Any,
) -> Trained:
    """Return the result of a run; `ended` is its length in seconds where it did not reach the target."""
    there = ending == "reached"
    return Trained(
        ending=ending,  # type: ignore[arg-type]
        seconds_to_target=seconds if there else INF,
        updates_to_target=50 if there else None,
        points=tuple(seen),
        totals=totals(seconds if ended is None else ended, **changes),
    )


def write(folder: Path, head: Head, seen: Sequence[Point], result: Trained | None) -> Path:
    """Write a journal to its place in the folder; without a result it is that of an interrupted run."""
    parts = [re.sub(r"[^\w.-]", "_", name) for name in (head.task, head.cluster, head.arm)]
    path = folder.joinpath("runs", *parts, f"{head.seed}.jsonl")
    writer = Writer(path, head)
    for point in seen:
        writer.point(point)
    if result is None:
        writer.close()
    else:
        writer.end(result)
    return path


def write_arm(folder: Path, arm: str, seconds: Sequence[float], **head: Any) -> None:
    """One run per time to target, seeds 0, 1, …; an infinite one ends after 100 s without it."""
    for seed, each in enumerate(seconds):
        mine = replace(HEAD, **{"arm": arm, "policy": arm, "seed": seed, **head})
        if math.isinf(each):
            seen = points(100.0, accuracy=0.8)
            write(folder, mine, seen, trained(100.0, seen, ending="not reached"))
        else:
            seen = points(each)
            write(folder, mine, seen, trained(each, seen))


def write_study(folder: Path, seeds: int = 3) -> Path:
    """A study whose ratios are known: bayes takes 0.8 of the best static's time in every seed, bayes gain 1.5."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "study.toml").write_text(STUDY.format(seeds=seeds), encoding="utf-8")
    times = 50.0 + 10.0 * np.arange(seeds)
    write_arm(folder, "wait-all", 4.0 * times)
    write_arm(folder, "best static", times, policy="backup:c=3")
    write_arm(folder, "best static gain", 0.5 * times, policy="backup:c=4", rate_rule="gain")
    write_arm(folder, "bayes", 0.8 * times)
    write_arm(folder, "bayes gain", 0.75 * times, policy="bayes:objective=gain", rate_rule="gain")
    return folder
