"""Shocks: everything 1000 times slower or faster from one round to the next, single slow rounds, dead workers.

A fixed choice over the whole run would be no yardstick: with a step of 1000, one half of the run is all of its seconds.
So the rounds of a table are divided into segments: before and after the shock, or the flashes and the rest. In each
segment the policy's rate is divided by that of the better bound of this segment alone (best fixed cutoff, best fixed
deadline, wait-all, each chosen anew with hindsight). The share of a run is the mean of these quotients, weighted by the
segments' numbers of rounds. The first min(50, 10 %) rounds are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.anywhere.draws import log_normal
from benchmarks.anywhere.options import Options
from benchmarks.anywhere.play import hindsight, play, spread, spread_cell
from benchmarks.claims import Claim, print_table
from tailcut import names
from tailcut.engines.simulated import Run
from tailcut.study.compare import warmup_of
from tailcut.study.parallel import Job
from tailcut.table import Table
from tailcut.types import FloatArray, IntArray

ROUNDS = 200
SIZES = (8, 32)
LIMIT = 0.95
NOISE, P_SLOW, SLOW = 0.2, 0.05, 5.0
STEP, FLASH, EVERY = 1000.0, 100.0, 40
DEAD, SILENCE = 0.25, 1000.0
"""Share of the workers that die, and seconds until a silent worker is known to be gone."""
KINDS = (
    "step × 1000",
    "step ÷ 1000",
    "flashes × 100",
    "dead, silent in every round",
    "dead, silent once, then out",
)


@dataclass(frozen=True, slots=True, eq=False)
class Shock:
    """A table and its segments, each `(some,)` row numbers in order."""

    table: Table
    segments: tuple[IntArray, ...]


def shock(kind: str, rounds: int, n: int, seed: int) -> Shock:
    """Draw a table with a shock in its middle, or with flashes all along."""
    rng = np.random.default_rng([seed, KINDS.index(kind), n])
    seconds = log_normal(rng, NOISE, (rounds, n)) * np.where(rng.random((rounds, n)) < P_SLOW, SLOW, 1.0)
    at, rows = rounds // 2, np.arange(rounds)
    halves = (rows[:at], rows[at:])
    if kind.startswith("step"):
        seconds[at:] *= STEP if "×" in kind else 1.0 / STEP
        return Shock(Table.dense(seconds, source=kind), halves)
    if kind.startswith("flashes"):
        flash = rows % EVERY == EVERY - 1
        seconds[flash] *= FLASH
        return Shock(Table.dense(seconds, source=kind), (rows[~flash], rows[flash]))
    return Shock(_with_dead(seconds, at, rng, kind), halves)


def _with_dead(seconds: FloatArray, at: int, rng: np.random.Generator, kind: str) -> Table:
    """Let some workers die in round `at`: their run times are censored from there on, or once and then absent."""
    n = seconds.shape[1]
    dead = rng.permutation(n)[: round(DEAD * n)]
    table = Table.dense(seconds, source=kind)
    observed = table.observed.copy()
    observed[at:, dead] = False
    seconds[at:, dead] = SILENCE
    if "once" in kind:
        seconds[at + 1 :, dead] = np.nan
    return replace(table, seconds=seconds, observed=observed)


def segment_share(run: Run, table: Table, rows: IntArray) -> float:
    """Return the run's rate in some rounds over the better bound of these rounds alone."""
    part = replace(table, seconds=table.seconds[rows], observed=table.observed[rows])
    return float(run.counts[rows].sum() / run.elapsed[rows].sum()) / max(hindsight(part))


def share_of(run: Run, shocked: Shock) -> float:
    """Return the mean of the segments' shares, weighted by their numbers of rounds after the warm-up."""
    skip = warmup_of(None, shocked.table.rounds)
    segments = [rows[rows >= skip] for rows in shocked.segments]
    shares = [segment_share(run, shocked.table, rows) for rows in segments if len(rows)]
    weights = [len(rows) for rows in segments if len(rows)]
    return float(np.average(shares, weights=weights))


def shares_of(kind: str, rounds: int, n: int, seed: int, policies: Sequence[str]) -> dict[str, float]:
    """Play every policy on one table."""
    shocked = shock(kind, rounds, n, seed)
    return {name: share_of(play(shocked.table, names.entrant(name)), shocked) for name in policies}


def main(options: Options) -> list[Claim]:
    """Measure, print and judge."""
    rounds = options.rounds or ROUNDS
    done = spread(
        "shocks",
        [
            Job((kind, n, seed), shares_of, (kind, rounds, n, seed, options.policies))
            for n in sorted(SIZES, reverse=True)
            for kind in KINDS
            for seed in options.seeds
            if options.takes(f"{kind} n={n} seed={seed}")
        ],
        options.jobs,
    )
    if done.results:
        show(done.results, options)
    done.or_stop()
    return claims_of(done.results, options.policy)


def show(found: Mapping[tuple[str, int, int], Mapping[str, float]], options: Options) -> None:
    """Print a row for each shock, size and policy."""
    groups = sorted({(KINDS.index(kind), n) for kind, n, _ in found})
    rows = [
        [
            f"{KINDS[kind]}, {n} workers",
            policy,
            spread_cell([one[policy] for key, one in found.items() if key[:2] == (KINDS[kind], n)]),
        ]
        for kind, n in groups
        for policy in options.policies
    ]
    print_table(
        "shocks: throughput over the better bound of each segment, mean over segments weighted by rounds; "
        f"{options.said_seeds()}: geometric mean (worst)",
        ("shock", "policy", f"share (each ≥ {LIMIT:g})"),
        rows,
    )


def claims_of(found: Mapping[tuple[str, int, int], Mapping[str, float]], policy: str) -> list[Claim]:
    """Return the claim of this section; none without cases."""
    if not found:
        return []
    worst = min(found, key=lambda key: found[key][policy])
    least = found[worst][policy]
    below = sum(one[policy] < LIMIT for one in found.values())
    return [
        Claim(
            f"shocks: {policy} has at least {LIMIT:g} of the better bound of the segments",
            f"{least:.4f}: {worst[0]}, {worst[1]} workers, seed {worst[2]}, the worst of {len(found)}; "
            f"{below} are below",
            least >= LIMIT,
        )
    ]
