"""The sentences of a backtest, the same in the terminal and on the page."""

from __future__ import annotations

from tailcut.report.backtest.columns import forecasters, percent
from tailcut.report.formats import figure, known
from tailcut.report.formats import percent as whole_percent
from tailcut.report.words import printable
from tailcut.study.backtest_facts import BacktestFacts


def setting(source: BacktestFacts) -> str:
    """Describe the backtest's setting in one line."""
    skipped = f" (first {source.warmup} not scored)" if source.warmup else ""
    parts = [_count(source.workers, "worker"), _count(source.rounds, "round") + skipped]
    if source.seeds > 1:
        parts.append(_count(source.seeds, "seed"))
    parts.append(f"closed by {printable(source.close)}")
    if source.see == "all":
        parts.append("all run times learnt")
    else:
        parts.append(f"learnt as closed rounds show them ({whole_percent(source.seen)} of the run times)")
    return ", ".join(parts)


def outcome(source: BacktestFacts) -> str:
    """Name the best forecaster, and the coverage of its 90 % interval.

    Example:
        "`stopping` foresees the rounds best up to their close (CRPS 0.0135 of it); its 90 % interval holds 95.5 %."
    """
    ranked = [facts for facts in forecasters(source) if known(facts.close_crps.mean)]
    if not ranked:
        return "No forecaster had a forecast for any of the rounds."
    best = ranked[0]
    return (
        f"`{printable(best.name)}` foresees the rounds best up to their close (CRPS {figure(best.close_crps.mean)} "
        f"of it); its 90 % interval holds {percent(best.cover90.mean)}."
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
