"""The law changes in mid-run: how many rounds until a policy is as good as it gets under the new one?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.claims import Claim, print_table
from benchmarks.forecast import models
from benchmarks.forecast.policies import flagship
from benchmarks.forecast.pool import Job, spread
from benchmarks.forecast.windows import Part, share, window_shares
from tailcut import names
from tailcut.clusters import Cluster, Iid, LogNormal, MarkovNodes, Switch
from tailcut.study.contest import contest
from tailcut.types import FloatArray

WIDTH = 10
CLOSE = 0.02
LIMIT = 40
CHANGE, AFTER = 100, 150
SAMPLES = 3
"""Samples per requested seed: a window of ten rounds of only five samples has noise as large as `CLOSE`."""
SHOWN = 12
"""Windows in the table."""


def cases() -> dict[str, tuple[Cluster, Cluster]]:
    """The law before, the law after."""
    nodes = MarkovNodes(rho=0.9, sd=0.08, noise=0.05, p_spike=0.01)
    slower = MarkovNodes(rho=0.9, sd=0.15, noise=0.12, p_spike=0.01, median=1.8)
    return {
        "xeon158, then 1.8 times slower and wider": (nodes, slower),
        "log-normal, sigma .2, then .6": (Iid(LogNormal(1.0, 0.2), 158), Iid(LogNormal(1.0, 0.6), 158)),
    }


def one(case: str, policy: str, seed: int, change: int, after: int) -> Part:
    """One policy through one sample; the rounds from the change on."""
    cluster = Switch(*cases()[case], at=change)
    table = cluster.sample(change + after, np.random.default_rng(seed)).table
    run = contest(table, names.entrant(policy), late_finish=False, overhead=0.0).run
    return Part.since(change, run.counts, run.elapsed, table)


def train(case: str, folder: Path, rounds: int, epochs: int) -> str:
    """Train the published model on the old law; the policy that uses it."""
    before, _ = cases()[case]
    rows = before.sample(rounds, np.random.default_rng(models.SEED)).table.seconds
    return models.train(rows, folder / f"{list(cases()).index(case)}.safetensors", epochs)


def rounds_back(shares: FloatArray, steady: float) -> float:
    """Rounds until the end of the first of two windows in a row that are within `CLOSE` of `steady`."""
    near = shares >= steady - CLOSE
    twice = np.flatnonzero(near[:-1] & near[1:])
    return float(WIDTH * (twice[0] + 1)) if len(twice) else float("inf")


def main(
    seeds: int = 5,
    change: int = CHANGE,
    after: int = AFTER,
    chosen: Sequence[str] | None = None,
    epochs: int = models.EPOCHS,
    processes: int | None = None,
) -> list[Claim]:
    """Measure, print and judge, on three samples per seed asked for."""
    seeds *= SAMPLES
    found, interrupted = measured(seeds, change, after, chosen or list(cases()), epochs, processes)
    rows, claims = [], []
    for (case, name), parts in found.items():
        shares, steady = window_shares(parts, WIDTH), share(parts, after // 2)
        back = rounds_back(shares, steady)
        rows.append([f"{case}: {name}", *(f"{s:.3f}" for s in shares[:SHOWN]), f"{steady:.3f}", f"{back:g}"])
        if name == "bayes":
            text = (
                f"drift, {case}: bayes is back within {CLOSE:g} of its steady share in at most {LIMIT} rounds"
            )
            claims.append(Claim(text, f"{back:g} rounds", back <= LIMIT))
    print_table(
        f"law changed in round {change}: share of the clairvoyant in windows of {WIDTH} rounds from then on, {seeds} "
        f"seeds pooled; steady: the last {after - after // 2} of {after} rounds. bdsgd is trained on the old law. "
        f"Limit for bayes: back in {LIMIT} rounds.",
        (
            "change: policy",
            *(f"to {WIDTH * (k + 1)}" for k in range(min(SHOWN, after // WIDTH))),
            "steady",
            f"back within {CLOSE:g} after",
        ),
        rows,
    )
    if interrupted:
        raise KeyboardInterrupt
    return claims


def measured(
    seeds: int, change: int, after: int, chosen: Sequence[str], epochs: int, processes: int | None
) -> tuple[dict[tuple[str, str], list[Part]], bool]:
    """The rounds after the change by case and policy, one part per seed; and whether Ctrl-C left some out."""
    with TemporaryDirectory() as folder:
        published = spread(
            "training bdsgd",
            [Job(case, train, (case, Path(folder), models.ROUNDS, epochs)) for case in chosen],
            processes,
        ).or_stop()
        specs = {"bayes": flagship(), "stopping": "stopping", "bdsgd": None}
        done = spread(
            "changing the law",
            [
                Job(
                    (case, name, seed),
                    one,
                    (case, spec or published[case], seed, change, after),
                    float(name == "bayes"),
                )
                for case in chosen
                for name, spec in specs.items()
                for seed in range(seeds)
            ],
            processes,
        )
    found: dict[tuple[str, str], list[Part]] = {}
    for case in chosen:
        for name in specs:
            parts = [done.results[case, name, s] for s in range(seeds) if (case, name, s) in done.results]
            if parts:
                found[case, name] = parts
    return found, done.interrupted
