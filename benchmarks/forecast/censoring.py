"""Measure the recovery of the 95th and 99th percentiles with 30 % censored, and the cost of exploring."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.claims import Claim, print_table
from benchmarks.forecast import exploring, models
from benchmarks.forecast.censored import LEVELS, CutIsMissing, recovered
from benchmarks.forecast.policies import flagship
from benchmarks.forecast.pool import Job, spread
from tailcut import names
from tailcut.forecast import Recent, Trend
from tailcut.forecast.base import Forecaster
from tailcut.types import FloatArray

LAWS = {
    "log-normal": "iid-lognormal:n=158",
    "shifted exponential": "iid-exponential:n=158",
    "10 % × 9": "demo8:n=158",
    "node-Markov": "xeon158",
}
FINISH = (0.0, 0.02, 0.05)
LIMIT = 0.05
ROUNDS, MEASURED = 600, 300
MOST_SEEDS = 2
FORECASTERS = ("bayes", "trend", "cut is missing", "published imputation")


def forecaster(kind: str, published: str) -> Forecaster[Any]:
    """A forecaster of the table; `published` is the policy with the trained model."""
    if kind == "bayes":
        return names.entrant(flagship()).policy.forecaster
    if kind == "trend":
        return Trend()
    if kind == "cut is missing":
        return CutIsMissing(Recent())
    return names.entrant(published).policy.forecaster


def one(law: str, kind: str, published: str, seed: int, rounds: int, measured: int) -> FloatArray:
    """`(len(FINISH), len(LEVELS))` quantiles over the true ones, one sample."""
    table = names.source(LAWS[law]).draw(seed, rounds).table
    return np.stack([recovered(table, forecaster(kind, published), f, measured, seed) for f in FINISH])


def train(law: str, folder: Path, rounds: int, epochs: int) -> str:
    """Train the published model on fully observed rounds of the same law; the policy that uses it."""
    rows = names.source(LAWS[law]).draw(models.SEED, rounds).table.seconds
    return models.train(rows, folder / f"{list(LAWS).index(law)}.safetensors", epochs)


def main(
    seeds: int = 5,
    rounds: int = ROUNDS,
    measured: int = MEASURED,
    laws: Sequence[str] = tuple(LAWS),
    epochs: int = models.EPOCHS,
    processes: int | None = None,
    explored: Sequence[str] = exploring.SOURCES,
) -> list[Claim]:
    """Measure, print and judge; at most two seeds, each of 600 rounds."""
    seeds_here = min(seeds, MOST_SEEDS)
    with TemporaryDirectory() as folder:
        published = spread(
            "training bdsgd",
            [Job(law, train, (law, Path(folder), rounds, epochs)) for law in laws],
            processes,
        ).or_stop()
        done = spread(
            "recovering percentiles",
            [
                Job(
                    (law, kind, seed),
                    one,
                    (law, kind, published[law], seed, rounds, measured),
                    4.0 - FORECASTERS.index(kind),
                )
                for law in laws
                for kind in FORECASTERS
                for seed in range(seeds_here)
            ],
            processes,
        )
    found: dict[tuple[str, str], list[FloatArray]] = {}
    for (law, kind, _), ratios in sorted(done.results.items()):
        found.setdefault((law, kind), []).append(ratios)
    _print(found, seeds_here)
    done.or_stop()
    exploring.main(seeds, sources=explored, processes=processes)
    return [_claim(law, found[law, "bayes"]) for law in laws]


def _claim(law: str, ratios: list[FloatArray]) -> Claim:
    off = np.mean(ratios, axis=0)[-1] - 1.0
    said = " and ".join(
        f"{100 * error:+.1f} % at the {100 * level:.0f}th" for error, level in zip(off, LEVELS, strict=True)
    )
    text = (
        f"censoring, {law}: with {100 * FINISH[-1]:g} % of late workers let finish, bayes recovers the "
        f"percentiles within {100 * LIMIT:g} %"
    )
    return Claim(text, said, bool((np.abs(off) <= LIMIT).all()))


def _print(found: dict[tuple[str, str], list[FloatArray]], seeds: int) -> None:
    columns = ["law, forecaster"]
    columns += [f"{100 * level:.0f}th, f = {f:g}" for f in FINISH for level in LEVELS]
    rows = []
    for (law, kind), ratios in found.items():
        off = 100 * (np.array(ratios) - 1.0)
        cells = [
            f"{off[:, f, level].mean():+.1f} ({off[:, f, level].min():+.1f} to {off[:, f, level].max():+.1f})"
            for f in range(len(FINISH))
            for level in range(len(LEVELS))
        ]
        rows.append([f"{law}: {kind}", *cells])
    print_table(
        f"percentiles of the predictive marginal, % off the true ones; {seeds} seeds: mean (least to most). Limit "
        f"for bayes at f = {FINISH[-1]:g}: ± {100 * LIMIT:g}. f: chance that a cut worker finishes; at f = 0 what lies "
        "beyond the close is not identified. Published imputation: bdsgd's truncated draws from its own predictive.",
        columns,
        rows,
    )
