"""Does the 90 % interval hold 90 % of the true run times, on every trace?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from benchmarks.claims import Claim, print_table
from benchmarks.forecast import sources
from benchmarks.forecast.policies import flagship
from benchmarks.forecast.pool import Job, spread
from tailcut import names
from tailcut.study.backtest import NARROW, WIDE, BacktestSetting, backtest, contenders
from tailcut.study.lessons import See

LEAST_ROUNDS = 200
SEES = ("closed", "all")
FORECASTERS = ("bayes", "stopping", "empirical")


def one(trace: str, see: str, rounds: int | None) -> dict[str, tuple[float, float]]:
    """Forecaster -> share of the true run times in its 50 % and in its 90 % interval; randomised PIT for ties."""
    policies = (flagship(), *FORECASTERS[1:])
    some = contenders([names.entrant(policy) for policy in policies])
    setting = BacktestSetting(see=cast(See, see), seeds=1, rounds=rounds)
    facts = backtest(names.source(trace), some, setting)
    named = dict(zip(policies, FORECASTERS, strict=True))
    return {
        named[found.name]: (found.cover50.mean, found.cover90.mean)
        for found in facts.forecasters
        if found.name in named
    }


def main(
    traces: Sequence[str] | None = None, rounds: int | None = None, processes: int | None = None
) -> list[Claim]:
    """Measure, print and judge.

    Args:
        traces: sources; by default the traces of TAILCUT_DATA with at least 200 rounds.
        rounds: rounds of each trace; None for all.
        processes: see `pool.spread`.
    """
    chosen = _long_traces() if traces is None else list(traces)
    if not chosen:
        return [Claim("coverage of the 90 % interval on every trace", "no traces to measure on", False)]
    done = spread(
        "coverage",
        [Job((trace, see), one, (trace, see, rounds)) for trace in chosen for see in SEES],
        processes,
    )
    rows = []
    for trace in chosen:
        for see in SEES:
            found = done.results.get((trace, see), {})
            cells = [
                f"{100 * found[name][1]:.1f} / {100 * found[name][0]:.1f}" if name in found else ""
                for name in FORECASTERS
            ]
            rows.append([f"{Path(trace).stem}: sees {see}", *cells])
    print_table(
        f"% of the true run times in the central 90 % / 50 % interval, traces of at least {LEAST_ROUNDS} rounds, "
        f"closed by stopping. Limits for bayes at 90 %: {100 * NARROW:g} to {100 * WIDE:g}",
        ("trace", *FORECASTERS),
        rows,
    )
    results = done.or_stop()
    return [_claim(see, {trace: results[trace, see]["bayes"][1] for trace in chosen}) for see in SEES]


def _claim(see: str, found: dict[str, float]) -> Claim:
    limits = f"{100 * NARROW:g} to {100 * WIDE:g} %"
    text = f"coverage of bayes' 90 % interval, taught {see} rounds, is {limits} on every trace"
    worst = max(found, key=lambda trace: abs(found[trace] - 0.9))
    said = f"{100 * found[worst]:.1f} % on {Path(worst).stem}, the farthest from 90 of {len(found)}"
    inside = all(math.isfinite(share) and NARROW <= share <= WIDE for share in found.values())
    return Claim(text, said, inside)


def _long_traces() -> list[str]:
    return [
        trace for trace in sources.traces() if names.source(trace).draw(0, None).table.rounds >= LEAST_ROUNDS
    ]
