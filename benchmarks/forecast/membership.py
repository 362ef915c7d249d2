"""Measure the next ten rounds after 40 of 158 workers leave and 20 new ones join in mid-run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.claims import Claim, print_table
from benchmarks.forecast.policies import flagship
from benchmarks.forecast.pool import Job, spread
from benchmarks.forecast.windows import Part, share
from tailcut import names
from tailcut.study.contest import contest
from tailcut.table import Table

WORKERS, LEAVE, JOIN = 158, 40, 20
CHANGE, BEFORE, NEXT, AFTER = 150, 50, 10, 100
MOST_LOSS = 0.03


def changing(seed: int, change: int, after: int) -> Table:
    """xeon158 with 178 workers: 20 of them, anywhere on the nodes, come when 40 of the others go."""
    table = names.source(f"xeon158:n={WORKERS + JOIN}").draw(seed, change + after).table
    who = np.random.default_rng([seed, 1]).permutation(table.workers)
    seconds = table.seconds.copy()
    seconds[:change, who[:JOIN]] = np.nan
    seconds[change:, who[JOIN : JOIN + LEAVE]] = np.nan
    return replace(table, seconds=seconds, observed=~np.isnan(seconds))


def one(policy: str, seed: int, change: int, after: int) -> tuple[Part, Part]:
    """One policy through one sample: the 50 rounds before the change, and those from it on."""
    table = changing(seed, change, after)
    run = contest(table, names.entrant(policy), late_finish=False, overhead=0.0).run
    before = Part.before(change, BEFORE, run, table)
    return before, Part.since(change, run.counts, run.elapsed, table)


def main(
    seeds: int = 5, change: int = CHANGE, after: int = AFTER, processes: int | None = None
) -> list[Claim]:
    """Measure, print and judge."""
    policies = {"bayes": flagship(), "stopping": "stopping", "empirical": "empirical"}
    done = spread(
        "leaving and joining",
        [
            Job((name, seed), one, (spec, seed, change, after))
            for name, spec in policies.items()
            for seed in range(seeds)
        ],
        processes,
    )
    rows, claims = [], []
    for name in policies:
        found = [done.results[name, seed] for seed in range(seeds) if (name, seed) in done.results]
        if not found:
            continue
        earlier, later = [before for before, _ in found], [behind for _, behind in found]
        before, then, rest = share(earlier), share(later, 0, NEXT), share(later, NEXT)
        by_seed = [1.0 - share([b], 0, NEXT) / share([a]) for a, b in found]
        loss = 1.0 - then / before
        spread_of = f"{100 * loss:+.2f} ({100 * min(by_seed):+.2f} to {100 * max(by_seed):+.2f})"
        rows.append([name, f"{before:.4f}", f"{then:.4f}", f"{rest:.4f}", spread_of])
        if name == "bayes":
            text = (
                f"membership: with {LEAVE} of {WORKERS} workers gone and {JOIN} new ones, the next {NEXT} rounds of "
                f"bayes lose at most {100 * MOST_LOSS:g} %"
            )
            claims.append(Claim(text, f"{100 * loss:.2f} %", loss <= MOST_LOSS))
    print_table(
        f"{LEAVE} of {WORKERS} workers leave and {JOIN} join in round {change} (xeon158): share of the clairvoyant, "
        f"{seeds} seeds pooled. Limit for bayes: a loss of {100 * MOST_LOSS:g} %.",
        (
            "policy",
            f"{BEFORE} rounds before",
            f"next {NEXT}",
            f"the {after - NEXT} after those",
            f"loss in the next {NEXT}, % (by seed)",
        ),
        rows,
    )
    done.or_stop()
    return claims
