"""Every policy on every source: share of the clairvoyant and of the informed bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.claims import Claim, print_table
from benchmarks.forecast import models, sources
from benchmarks.forecast.policies import RIVALS, VARIANTS, label
from benchmarks.forecast.pool import Done, Job, spread
from benchmarks.forecast.shares import Shares, one_sample, train_for
from benchmarks.forecast.table_claims import claims_of
from tailcut.study.compare import DEADLINE, INFORMED, STATIC
from tailcut.study.facts import Spread

BOUNDS = (STATIC, DEADLINE, INFORMED)
ROWS = (*RIVALS, *VARIANTS, *BOUNDS)


def main(
    seeds: int = 5,
    rounds: int = sources.ROUNDS,
    names: Sequence[str] | None = None,
    epochs: int = models.EPOCHS,
    processes: int | None = None,
) -> list[Claim]:
    """Measure, print and judge.

    Args:
        seeds: samples of each cluster.
        rounds: rounds of each cluster, fewer where the source has many workers; traces are played whole.
        names: names of the sources; by default all.
        epochs: most epochs of the published model's training.
        processes: see `pool.spread`.
    """
    chosen = [*sources.NAMED, sources.EQUAL, *sources.traces()] if names is None else list(names)
    with TemporaryDirectory() as folder:
        published = spread(
            "training bdsgd",
            [
                Job(
                    name,
                    train_for,
                    (name, Path(folder), min(models.ROUNDS, 2 * rounds), epochs),
                    _size(name, rounds),
                )
                for name in chosen
            ],
            processes,
        ).or_stop()
        done: Done[Shares] = spread(
            "every policy on every source",
            [
                Job(
                    (name, seed),
                    one_sample,
                    (name, seed, (*RIVALS, *VARIANTS), sources.rounds_of(name, rounds), published[name]),
                    _size(name, rounds),
                )
                for name in chosen
                for seed in range(1 if sources.is_trace(name) else seeds)
            ],
            processes,
        )
    found: dict[str, list[Shares]] = {name: [] for name in chosen}
    for (name, _), shares in sorted(done.results.items()):
        found[name].append(shares)
    found = {name: samples for name, samples in found.items() if samples}
    _print(found, seeds)
    done.or_stop()
    return claims_of(found)


def _size(name: str, rounds: int) -> float:
    table = sources.opened(name).draw(0, 2 if not sources.is_trace(name) else None).table
    return float(table.workers * (sources.rounds_of(name, rounds) or table.rounds))


def _print(found: dict[str, list[Shares]], seeds: int) -> None:
    many = f"{seeds} seeds of each cluster, traces whole: mean, worst–best"
    trained = "bdsgd is trained beforehand: on another seed, or on the first 40 % of the trace itself"
    columns = sources.short(list(found))
    averaged = [name for name in found if name != sources.EQUAL]
    rows = []
    for policy in ROWS:
        cells = {name: _spread([one.of_clairvoyant for one in found[name]], policy) for name in found}
        means = [cells[name].mean for name in averaged]
        rows.append([label(policy), *map(_cell, cells.values()), f"{geometric_mean(means):.4f}"])
    print_table(
        f"share of the clairvoyant; {many}. {trained}. The geometric mean leaves out nothing-straggles.",
        ("policy", *columns, "geometric mean"),
        rows,
    )
    lawful = [name for name in found if found[name][0].of_informed]
    rows = [
        [
            label(policy),
            *(_cell(_spread([one.of_informed for one in found[name]], policy)) for name in lawful),
        ]
        for policy in ROWS
    ]
    print_table(f"share of the informed bound; {many}", ("policy", *sources.short(lawful)), rows)


def geometric_mean(values: Sequence[float]) -> float:
    """NaN where one of them is."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def _spread(samples: Sequence[dict[str, float]], policy: str) -> Spread:
    return Spread.over([sample.get(policy, math.nan) for sample in samples])


def _cell(share: Spread) -> str:
    if math.isnan(share.mean):
        return ""
    if share.least == share.most:
        return f"{share.mean:.3f}"
    return f"{share.mean:.3f}\n{_bare(share.least)}–{_bare(share.most)}"


def _bare(share: float) -> str:
    return f"{share:.3f}".removeprefix("0")
