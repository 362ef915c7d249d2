"""The claims about the big table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from benchmarks.claims import Claim
from benchmarks.forecast import sources
from benchmarks.forecast.policies import flagship
from benchmarks.forecast.shares import Shares
from benchmarks.optimal import fine_grid
from tailcut.clusters import Iid
from tailcut.clusters.presets import PRESETS
from tailcut.optimal import optimal_stopping
from tailcut.study.compare import DEADLINE, STATIC

Found = Mapping[str, Sequence[Shares]]

OF_INFORMED = 0.99
ABOVE_RIVALS = 0.02
BELOW_HINDSIGHT = 0.01
LONG = 300
"""Rounds from which on a source must be learnt as well as hindsight knows it."""
STRAIGHT = 0.995
"""Share of the clairvoyant from which on waiting for all is the right answer."""
OF_TRAP, AFTER_CHANGE, CHANGE = 0.98, 50, 100
OF_OPTIMUM = 0.985


def claims_of(found: Found) -> list[Claim]:
    """All claims that these sources can show."""
    return [
        *_informed(found),
        *_geometric_means(found),
        *_hindsight(found),
        *_waits_for_all(found),
        *_trap(found),
        *_optimum(found),
        *_published(found),
    ]


def mean_share(samples: Sequence[Shares], policy: str) -> float:
    """Mean share of the clairvoyant."""
    return math.fsum(one.of_clairvoyant[policy] for one in samples) / len(samples)


def _least(
    text: str, found: Found, names: Sequence[str], figure: Callable[[str], float], limit: float
) -> list[Claim]:
    """The claim that a figure reaches its limit on each of some sources; none if none of them was played."""
    figures = {name: figure(name) for name in names if name in found}
    if not figures:
        return []
    worst = min(figures, key=lambda name: figures[name])
    held = sum(value >= limit for value in figures.values())
    said = (
        f"{figures[worst]:.4f} on {sources.short([worst])[0]}, the worst of {len(figures)} ({held} reach it)"
    )
    return [Claim(text, said, held == len(figures))]


def _informed(found: Found) -> list[Claim]:
    ours = flagship()

    def share(name: str) -> float:
        return math.fsum(one.of_informed[ours] for one in found[name]) / len(found[name])

    text = f"bayes has at least {OF_INFORMED:g} of the informed bound on every named cluster"
    return _least(text, found, sources.NAMED, share, OF_INFORMED)


def _geometric_means(found: Found) -> list[Claim]:
    names = [name for name in found if name != sources.EQUAL]
    if not names:
        return []

    def mean(policy: str) -> float:
        return math.exp(math.fsum(math.log(mean_share(found[name], policy)) for name in names) / len(names))

    ours = mean(flagship())
    out = []
    for rival, margin in (("stopping", 0.0), *((r, ABOVE_RIVALS) for r in ("bdsgd", "empirical", "elfving"))):
        theirs = mean(rival)
        by = f"at least {margin:g} above" if margin else "above"
        out.append(
            Claim(
                f"geometric mean of bayes' share of the clairvoyant is {by} that of {rival}",
                f"{ours:.4f} against {theirs:.4f}",
                ours >= theirs + margin if margin else ours > theirs,
            )
        )
    return out


def _hindsight(found: Found) -> list[Claim]:
    long = [name for name in found if found[name][0].rounds >= LONG]

    def above(name: str) -> float:
        samples = found[name]
        return mean_share(samples, flagship()) - max(mean_share(samples, b) for b in (STATIC, DEADLINE))

    text = (
        f"bayes is never more than {BELOW_HINDSIGHT:g} below the better of {STATIC} and {DEADLINE} "
        f"(sources of at least {LONG} rounds)"
    )
    return _least(text, found, long, above, -BELOW_HINDSIGHT)


def _waits_for_all(found: Found) -> list[Claim]:
    straight = [name for name in found if mean_share(found[name], "wait-all") >= STRAIGHT]

    def of_wait_all(name: str) -> float:
        return mean_share(found[name], flagship()) / mean_share(found[name], "wait-all")

    text = (
        f"bayes has at least {STRAIGHT:g} of wait-all's rate where that has {STRAIGHT:g} of the clairvoyant's"
    )
    return _least(text, found, straight, of_wait_all, STRAIGHT)


def _trap(found: Found) -> list[Claim]:
    begin = CHANGE + AFTER_CHANGE

    def share(name: str) -> float:
        return math.fsum(one.later(flagship(), begin) for one in found[name]) / len(found[name])

    known = [name for name in ("trap10",) if name in found and found[name][0].rounds > begin]
    text = (
        f"bayes has at least {OF_TRAP:g} of a clairvoyant that starts {AFTER_CHANGE} rounds after the change"
    )
    return _least(text, found, known, share, OF_TRAP)


def _optimum(found: Found) -> list[Claim]:
    cluster = PRESETS["demo8"].factory()
    if "demo8" not in found or not isinstance(cluster, Iid):
        return []
    times = fine_grid(cluster.marginal)
    best = optimal_stopping(times, cluster.marginal.survival(times), cluster.n, 0.0)

    def share(name: str) -> float:
        total = 0.0
        for one in found[name]:
            counts, elapsed = best.run(one.table().seconds[one.warmup :])
            total += one.rate(flagship(), one.warmup) / (counts.sum() / elapsed.sum())
        return total / len(found[name])

    text = f"bayes has at least {OF_OPTIMUM:g} of the optimum by dynamic programming, on the same run times"
    return _least(text, found, ("demo8",), share, OF_OPTIMUM)


def _published(found: Found) -> list[Claim]:
    def above(rival: str) -> Callable[[str], float]:
        return lambda name: mean_share(found[name], "bdsgd") - mean_share(found[name], rival)

    return [
        claim
        for rival in ("elfving", "backup")
        for claim in _least(
            f"bdsgd is above {rival} on the structured clusters", found, sources.STRUCTURED, above(rival), 0.0
        )
    ]
