"""Two to eight workers, some of which sleep: `bayes` against the best fixed cutoff, once it has had time to learn."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from benchmarks.anywhere.draws import log_normal
from benchmarks.anywhere.options import Options
from benchmarks.anywhere.play import Case, Rates, geometric_mean, play_all, spread_cell
from benchmarks.claims import Claim, print_table
from tailcut.table import Table
from tailcut.types import FloatArray

ROUNDS, BEGIN = 300, 100
SIZES = (2, 3, 4, 8)
SLOW, NOISE, P_SPIKE = 5.0, 0.05, 0.1
LIMIT = 0.95


def random_sleepers(rounds: int, n: int, rng: np.random.Generator, k: int) -> FloatArray:
    """Draw run times in which exactly `k` random workers are slow in each round."""
    asleep = np.argsort(rng.random((rounds, n)), axis=1) < k
    seconds: FloatArray = np.where(asleep, SLOW, 1.0) * log_normal(rng, NOISE, (rounds, n))
    return seconds


def persistent_sleepers(rounds: int, n: int, rng: np.random.Generator, k: int) -> FloatArray:
    """Draw run times in which the same `k` workers are slow for good."""
    asleep = rng.permutation(n) < k
    seconds: FloatArray = np.where(asleep, SLOW, 1.0) * log_normal(rng, NOISE, (rounds, n))
    return seconds


def spikes(rounds: int, n: int, rng: np.random.Generator, k: int) -> FloatArray:
    """Draw run times in which each worker is slow with probability 10 %; `k` is not used."""
    del k
    slow: FloatArray = np.where(rng.random((rounds, n)) < P_SPIKE, SLOW, 1.0)
    return slow * log_normal(rng, NOISE, (rounds, n))


KINDS = {"random": random_sleepers, "persistent": persistent_sleepers, "spikes": spikes}


def table(kind: str, rounds: int, n: int, k: int, seed: int) -> Table:
    """Draw one table; each kind, size and seed has a stream of its own."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind), n, k])
    return Table.dense(KINDS[kind](rounds, n, rng, k), source=kind)


def sleeper_counts(kind: str, n: int) -> list[int]:
    """Return how many of n workers sleep: one, half of them, all but one."""
    return [0] if kind == "spikes" else sorted({1, max(n // 2, 1), n - 1})


def cases(options: Options) -> list[Case]:
    """Return every kind, size, number of sleepers and seed."""
    rounds = options.rounds or ROUNDS
    return [
        Case(name(kind, n, k), n, seed, partial(table, kind, rounds, n, k, seed), skip=BEGIN)
        for n in SIZES
        for kind in KINDS
        for k in sleeper_counts(kind, n)
        for seed in options.seeds
    ]


def name(kind: str, n: int, k: int) -> str:
    """Return what a kind of table is called."""
    if kind == "spikes":
        return f"{n} workers, each {P_SPIKE:.0%} likely {SLOW:g} × slow"
    return f"{k} of {n} {SLOW:g} × slow, {kind}"


def main(options: Options) -> list[Claim]:
    """Measure, print and judge."""
    done = play_all("few workers", cases(options), options)
    if done.results:
        show(done.results, options)
    done.or_stop()
    return claims_of(done.results, options.policy)


def show(found: Mapping[Case, Rates], options: Options) -> None:
    """Print a row for each kind of table and policy."""
    rows = []
    groups: dict[str, list[Rates]] = {}
    for case, rates in sorted(found.items(), key=lambda item: item[0].n):
        groups.setdefault(case.group, []).append(rates)
    for group, some in groups.items():
        for policy in options.policies:
            rows.append(
                [
                    group,
                    policy,
                    spread_cell([rates.policies[policy] / rates.static for rates in some]),
                    spread_cell([rates.share(policy) for rates in some]),
                    f"{geometric_mean([rates.wait_all / rates.static for rates in some]):.3f}",
                ]
            )
    print_table(
        f"few workers, from round {BEGIN} on; {options.said_seeds()}: geometric mean (worst)",
        (
            "workers",
            "policy",
            f"of best cutoff (each ≥ {LIMIT:g})",
            "of the better bound",
            "wait-all of best cutoff",
        ),
        rows,
    )


def claims_of(found: Mapping[Case, Rates], policy: str) -> list[Claim]:
    """Return the claim of this section; none without cases."""
    if not found:
        return []
    shares = {case: rates.policies[policy] / rates.static for case, rates in found.items()}
    worst = min(shares, key=lambda case: shares[case])
    below = sum(share < LIMIT for share in shares.values())
    return [
        Claim(
            f"few: {policy} has at least {LIMIT:g} of the best fixed cutoff from round {BEGIN} on",
            f"{shares[worst]:.4f}: {worst.label}, the worst of {len(shares)} tables; {below} are below",
            shares[worst] >= LIMIT,
        )
    ]
