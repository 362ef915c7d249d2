"""Measure 10 to 10,000 workers in one group, and clusters whose table has no column of nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.anywhere.draws import log_normal
from benchmarks.anywhere.options import Options
from benchmarks.anywhere.play import Case, Rates, geometric_mean, play_all, spread_cell
from benchmarks.claims import Claim, print_table
from tailcut import names
from tailcut.table import Table
from tailcut.types import NO_NODE

ONE_GROUP = ((10, 200), (100, 200), (1000, 60), (10_000, 30))
"""Workers and rounds."""
COMMON, OWN, P_SPIKE, SPIKE = 0.2, 0.1, 0.02, 5.0
NO_COLLAPSE = 0.95
MANY, MANY_ROUNDS, OF_CLAIRVOYANT = "knl2175", 60, 0.97
PAIRS = {"xeon158": "xeon158", "4 nodes × 40": "xeon158:n=160:node_count=4:rho=0.0:sd=0.0:p_spike=0.02"}
PAIR_ROUNDS, APART = 200, 0.005
WITH, WITHOUT = ", nodes told", ", nodes not told"


def one_group(n: int, rounds: int, seed: int) -> Table:
    """Draw a common factor, own noise and spikes."""
    rng = np.random.default_rng([seed, n])
    seconds = log_normal(rng, COMMON, (rounds, 1)) * log_normal(rng, OWN, (rounds, n))
    return Table.dense(np.where(rng.random((rounds, n)) < P_SPIKE, SPIKE, 1.0) * seconds, source="one group")


def of_cluster(spec: str, rounds: int, seed: int, told: bool) -> Table:
    """Draw a named cluster with or without its column of nodes."""
    table = names.source(spec).draw(seed, rounds).table
    return table if told else replace(table, nodes=np.full(table.workers, NO_NODE, dtype=np.int64))


def cases(options: Options) -> list[Case]:
    """Return all tables, the largest first."""
    found = [
        Case(
            "one group",
            n,
            seed,
            partial(one_group, n, min(rounds, options.rounds or rounds), seed),
        )
        for n, rounds in ONE_GROUP
        for seed in options.seeds
    ]
    rounds = min(MANY_ROUNDS, options.rounds or MANY_ROUNDS)
    found += [
        Case(MANY + WITHOUT, 2175, seed, partial(of_cluster, MANY, rounds, seed, False))
        for seed in options.seeds
    ]
    for group, spec in PAIRS.items():
        for told, said in ((True, WITH), (False, WITHOUT)):
            draws = {
                s: partial(of_cluster, spec, options.rounds or PAIR_ROUNDS, s, told) for s in options.seeds
            }
            found += [Case(group + said, 160 if "40" in group else 158, s, draw) for s, draw in draws.items()]
    return found


def main(options: Options) -> list[Claim]:
    """Measure, print and judge."""
    done = play_all("sizes", cases(options), options)
    if done.results:
        show(done.results, options)
    done.or_stop()
    return claims_of(done.results, options.policy)


def show(found: Mapping[Case, Rates], options: Options) -> None:
    """Print a row for each table and policy."""
    rows = []
    for group, n in sorted({(case.group, case.n) for case in found}):
        some = [rates for case, rates in found.items() if (case.group, case.n) == (group, n)]
        limit = f"bound ≥ {NO_COLLAPSE:g}" if group == "one group" else ""
        limit = f"clairvoyant ≥ {OF_CLAIRVOYANT:g}" if group.startswith(MANY) else limit
        limit = limit or f"with − without nodes ≤ {APART:g}"
        for policy in options.policies:
            rows.append(
                [
                    f"{n:,} workers, {group}",
                    policy,
                    spread_cell([rates.share(policy) for rates in some]),
                    spread_cell([rates.policies[policy] / rates.clairvoyant for rates in some]),
                    limit,
                ]
            )
    print_table(
        f"sizes; {options.said_seeds()}: geometric mean (worst)",
        ("workers", "policy", "of the better bound", "of the clairvoyant", "limit"),
        rows,
    )


def claims_of(found: Mapping[Case, Rates], policy: str) -> list[Claim]:
    """Return the claims that these tables can show."""
    out = []
    groups: list[tuple[str, float, str, Callable[[Rates], float]]] = [
        ("one group", NO_COLLAPSE, "the better bound", lambda rates: rates.share(policy)),
        (
            MANY + WITHOUT,
            OF_CLAIRVOYANT,
            "the clairvoyant",
            lambda rates: rates.policies[policy] / rates.clairvoyant,
        ),
    ]
    for group, limit, of, figure in groups:
        shares = {case: figure(rates) for case, rates in found.items() if case.group == group}
        if shares:
            worst = min(shares, key=lambda case: shares[case])
            text = f"sizes: {policy} has at least {limit:g} of {of}, {group}"
            said = f"{shares[worst]:.4f}: {worst.label}, the worst of {len(shares)}"
            out.append(Claim(text, said, shares[worst] >= limit))
    for group in PAIRS:
        told, untold = (
            [r.policies[policy] / r.clairvoyant for case, r in found.items() if case.group == group + said]
            for said in (WITH, WITHOUT)
        )
        if told and untold:
            apart = geometric_mean(told) - geometric_mean(untold)
            text = f"sizes: without its nodes {group} loses at most {APART:g} of the clairvoyant"
            said = f"{apart:+.4f}: {geometric_mean(told):.4f} with, {geometric_mean(untold):.4f} without"
            out.append(Claim(text, said, apart <= APART))
    return out
