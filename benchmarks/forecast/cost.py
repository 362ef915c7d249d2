"""Measure the time of `bayes`: a decision, an opening, a close, thinking in the background, and a fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

from benchmarks.claims import Claim, print_table
from benchmarks.forecast.critical_path import mean, quantile, timed_run
from benchmarks.forecast.policies import flagship
from tailcut import names
from tailcut.table import Table

CASES = ((158, 150, 2.0), (2175, 40, 20.0), (10_000, 15, 100.0))
"""Workers, rounds, and the limit of a decision's 99th percentile in milliseconds."""
BACKGROUND = 0.25
FREE = 5000
"""Workers from which on the background's share is only shown."""
SKIP = 5
FIT_ROUNDS, FIT_WORKERS, FIT_SECONDS = 1000, 158, 60.0
EPOCHS, PATIENCE = 100, 20


def main(
    cases: Sequence[tuple[int, int, float]] = CASES,
    fit_rounds: int = FIT_ROUNDS,
    epochs: int = EPOCHS,
) -> list[Claim]:
    """Measure, print and judge; here and not in other processes, so that nothing else runs meanwhile."""
    claims, rows = [], []
    for workers, rounds, limit in cases:
        table = names.source(f"xeon158:n={workers}").draw(0, rounds).table
        costs = timed_run(table, names.entrant(flagship()).policy).after(SKIP)
        p99, background = quantile(costs.decide, 0.99), mean(costs.think) / 1e3
        free = workers >= FREE
        rows.append(
            [
                f"{workers:,}",
                f"{len(costs.decide) / max(len(costs.close), 1):.1f}",
                f"{quantile(costs.decide, 0.5):.2f}",
                f"{p99:.2f} ({limit:g})",
                *(f"{quantile(of, q):.2f}" for of in (costs.opening, costs.close) for q in (0.5, 0.99)),
                f"{mean(costs.think):.1f}",
                f"{100 * background:.1f} ({'shown' if free else f'{100 * BACKGROUND:g}'})",
            ]
        )
        text = f"a decision of bayes at {workers:,} workers takes at most {limit:g} ms (p99)"
        claims.append(Claim(text, f"{p99:.2f} ms", p99 <= limit))
        if not free:
            text = f"thinking takes at most {BACKGROUND:.0%} of one core at {workers:,} workers, one round a second"
            claims.append(Claim(text, f"{100 * background:.1f} %", background <= BACKGROUND))
    print_table(
        "bayes on xeon158: milliseconds (limit). Opening and close are handled while all wait; thinking (learning, "
        "forecasting, planning) while the workers compute",
        (
            "workers",
            "decisions a round",
            "decision p50",
            "p99",
            "opening p50",
            "p99",
            "close p50",
            "p99",
            "thinking a round",
            "% of one core at 1 round/s",
        ),
        rows,
    )
    return [*claims, *_fits(fit_rounds, epochs)]


def _fits(rounds: int, epochs: int) -> list[Claim]:
    table = names.source(f"xeon158:n={FIT_WORKERS}").draw(0, rounds).table
    claims, rows = [], []
    for kind, work in _trainings().items():
        began = perf_counter()
        done = work(table, epochs)
        took = perf_counter() - began
        rows.append([kind, f"{took:.1f} ({FIT_SECONDS:g})", str(done)])
        text = f"fitting {kind} to {rounds:,} rounds of {FIT_WORKERS} workers takes at most {FIT_SECONDS:g} s"
        claims.append(Claim(text, f"{took:.1f} s", took <= FIT_SECONDS))
    print_table(
        f"fit on {rounds:,} rounds of {FIT_WORKERS} workers, at most {epochs} epochs, early stop after {PATIENCE} "
        "without progress, no time budget: seconds (limit)",
        ("kind", "seconds", "epochs"),
        rows,
    )
    return claims


def _trainings() -> dict[str, Callable[[Table, int], int]]:
    """Return the functions that fit a model, by kind: from a table and epochs to the epochs done."""
    found: dict[str, Callable[[Table, int], int]] = {"bdsgd": _fit_bdsgd}
    try:
        import tailcut.fitting.bayes
        import tailcut.study.deep_samples  # noqa: F401
    except ImportError:
        return found
    return found | {"bayes": _fit_bayes}


def _fit_bdsgd(table: Table, epochs: int) -> int:
    from tailcut.fitting.bdsgd import BdsgdSettings, BdsgdTraining
    from tailcut.fitting.loop import fit

    training = BdsgdTraining(table.seconds, BdsgdSettings(), seed=0)
    return fit(training, epochs=epochs, patience=PATIENCE).standing.epochs


def _fit_bayes(table: Table, epochs: int) -> int:
    from tailcut.fitting.bayes import BayesTraining
    from tailcut.fitting.loop import fit
    from tailcut.study.deep_samples import samples_of

    training = BayesTraining(samples_of(table), None, seed=0)
    return fit(training, epochs=epochs, patience=PATIENCE).standing.epochs
