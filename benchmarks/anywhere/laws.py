"""Fourteen laws, three sizes, three modes: `bayes` against the better of the bounds in hindsight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from benchmarks.anywhere.draws import LAWS
from benchmarks.anywhere.options import Options
from benchmarks.anywhere.play import Case, Rates, geometric_mean, play_all, spread_cell
from benchmarks.claims import Claim, print_table

ROUNDS = 200
SIZES = (6, 32, 128)
OVERHEAD = 0.1
NEAR, OF_WAIT_ALL = 0.002, 0.99
"""The policy needs `OF_WAIT_ALL` of wait-all's rate where that is within `NEAR` of the best bound."""


@dataclass(frozen=True, slots=True)
class Mode:
    """The settings of one mode, and its limits on the geometric mean and on the worst share."""

    name: str
    about: str
    overhead_share: float
    late_finish: bool
    mean: float
    worst: float


MODES = (
    Mode("plain", "late work abandoned, no overhead", 0.0, False, 0.995, 0.97),
    Mode("overhead", f"overhead {OVERHEAD:g} of a median run time", OVERHEAD, False, 0.985, 0.95),
    Mode("finish", "late workers finish, bounds likewise", 0.0, True, 0.985, 0.95),
)


def cases(mode: Mode, options: Options) -> list[Case]:
    """Return every law, size and seed of a mode."""
    return [
        Case(
            law.label,
            n,
            seed,
            partial(law.table, options.rounds or ROUNDS, n, seed),
            mode.overhead_share,
            mode.late_finish,
        )
        for law in LAWS
        for n in SIZES
        for seed in options.seeds
    ]


def main(options: Options) -> list[Claim]:
    """Measure, print and judge, mode by mode."""
    claims: list[Claim] = []
    for mode in MODES:
        done = play_all(f"laws, {mode.name}", cases(mode, options), options)
        if done.results:
            show(mode, done.results, options)
        done.or_stop()
        claims += claims_of(mode, done.results, options.policy)
    return claims


def show(mode: Mode, found: Mapping[Case, Rates], options: Options) -> None:
    """Print one table: a row for each law and policy, its limits in the columns' names."""
    sizes = sorted({case.n for case in found})
    rows = []
    for law in LAWS:
        mine = {case: rates for case, rates in found.items() if case.group == law.label}
        for policy in options.policies if mine else ():
            shares = {case: rates.share(policy) for case, rates in mine.items()}
            near = [rates.of_wait_all(policy) for rates in mine.values() if is_near(rates)]
            rows.append(
                [
                    law.label,
                    policy,
                    *(spread_cell([share for case, share in shares.items() if case.n == n]) for n in sizes),
                    spread_cell(list(shares.values())),
                    f"{min(near):.4f}" if near else "",
                ]
            )
    for policy in options.policies:
        every = [rates.share(policy) for rates in found.values()]
        rows.append(["all laws", policy, *[""] * len(sizes), spread_cell(every), ""])
    print_table(
        f"laws, {mode.about}: throughput over the better of best cutoff, best deadline and wait-all in hindsight; "
        f"{options.said_seeds()}: geometric mean (worst). Limits: {mode.mean:g} (all laws), worst {mode.worst:g}",
        (
            "law",
            "policy",
            *(f"n = {n}" for n in sizes),
            f"all (≥ {mode.mean:g}, worst ≥ {mode.worst:g})",
            f"least of wait-all where it is best (≥ {OF_WAIT_ALL:g})",
        ),
        rows,
    )


def is_near(rates: Rates) -> bool:
    """Return whether waiting for all is as good as any fixed choice."""
    return rates.wait_all >= (1.0 - NEAR) * rates.best


def claims_of(mode: Mode, found: Mapping[Case, Rates], policy: str) -> list[Claim]:
    """Return the claims of one mode; none without cases."""
    if not found:
        return []
    shares = {case: rates.share(policy) for case, rates in found.items()}
    mean, worst = geometric_mean(list(shares.values())), min(shares, key=lambda case: shares[case])
    out = [
        Claim(
            f"laws, {mode.name}: the geometric mean of {policy}'s share of the better bound is at least {mode.mean:g}",
            f"{mean:.4f} over {len(shares)} tables",
            mean >= mode.mean,
        ),
        Claim(
            f"laws, {mode.name}: the worst share is at least {mode.worst:g}",
            f"{shares[worst]:.4f}: {worst.label}; {sum(s < mode.worst for s in shares.values())} are below",
            shares[worst] >= mode.worst,
        ),
    ]
    near = {case: rates.of_wait_all(policy) for case, rates in found.items() if is_near(rates)}
    if near:
        least = min(near, key=lambda case: near[case])
        out.append(
            Claim(
                f"laws, {mode.name}: {policy} has at least {OF_WAIT_ALL:g} of wait-all's rate where that is within "
                f"{NEAR:g} of the best bound",
                f"{near[least]:.4f}: {least.label}, the worst of {len(near)} tables",
                near[least] >= OF_WAIT_ALL,
            )
        )
    return out
