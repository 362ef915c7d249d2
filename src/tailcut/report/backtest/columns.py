"""The columns of a backtest: heading, cell and meaning, once for the terminal, the page and its glossary."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tailcut.report.formats import UNKNOWN, figure, known
from tailcut.report.grid import title_of
from tailcut.report.words import printable
from tailcut.study.backtest_facts import BacktestFacts, ForecasterFacts
from tailcut.study.facts import Spread


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        heading: heading, with line breaks where a narrow table may break it.
        meaning: explanation for the glossary, in whole sentences.
        cell: the text for one forecaster.
        rank: 0 is always shown; in a narrow table the highest ranks are left out first.
        shown: tells whether the column is of use for a source.
    """

    heading: str
    meaning: str
    cell: Callable[[ForecasterFacts], str]
    rank: int
    shown: Callable[[BacktestFacts], bool] = lambda source: True

    @property
    def title(self) -> str:
        """The heading on one line."""
        return title_of(self.heading)


def columns(source: BacktestFacts) -> list[Column]:
    """Return the columns that are of use for `source`, in order."""
    return [column for column in COLUMNS if column.shown(source)]


def forecasters(source: BacktestFacts) -> list[ForecasterFacts]:
    """Return the forecasters without the bounds, the lowest CRPS up to the close first."""
    return sorted((one for one in source.forecasters if one.kind == "forecaster"), key=_place)


def bounds(source: BacktestFacts) -> list[ForecasterFacts]:
    """Return the bounds, which know the true law."""
    return [one for one in source.forecasters if one.kind == "bound"]


def everyone(source: BacktestFacts) -> list[ForecasterFacts]:
    """Return forecasters, then bounds."""
    return forecasters(source) + bounds(source)


def percent(value: float) -> str:
    """Format a coverage in per cent, with one decimal."""
    return f"{100 * value:.1f} %" if known(value) else UNKNOWN


def nats(value: float) -> str:
    """Format a log score in nats, with a minus sign that differs from a dash."""
    return f"{value:.3f}".replace("-", "−") if known(value) else UNKNOWN


def _place(facts: ForecasterFacts) -> float:
    return math.inf if math.isnan(facts.close_crps.mean) else facts.close_crps.mean


def _span(spread: Spread, text: Callable[[float], str]) -> str:
    return f"{text(spread.least)}…{text(spread.most)}" if known(spread.mean) else UNKNOWN


def _several(source: BacktestFacts) -> bool:
    return source.seeds > 1


COLUMNS = (
    Column(
        "forecaster of",
        "The policies whose forecaster was scored. Below the rule stands the truth, the cluster's own law given its "
        "hidden state: nobody can score better in the long run.",
        lambda facts: printable(facts.name),
        0,
    ),
    Column(
        "close\nCRPS",
        "How far the forecast distribution of single run times is off up to the close of the round, as a share of "
        "the close; lower is better. Rows are ordered by it: nothing later than the close matters to a decision.",
        lambda facts: figure(facts.close_crps.mean),
        0,
    ),
    Column(
        "order\nCRPS",
        "How far the forecast of the c-th arrival is off, as a share of its mean, averaged over 16 values of c; lower "
        "is better. It sees whether workers that slow down together are foreseen to do so.",
        lambda facts: figure(facts.order_crps.mean),
        1,
    ),
    Column(
        "log\nscore",
        "Nats per worker, all workers jointly, per logarithm of time; cut workers by the probability of lasting that "
        "long; higher is better. Repeated run times can flatter it.",
        lambda facts: nats(facts.log_score.mean),
        2,
    ),
    Column(
        "log score,\nworst…best",
        "The same in the worst and in the best of the seeds.",
        lambda facts: _span(facts.log_score, nats),
        7,
        _several,
    ),
    Column(
        "50 %\nholds",
        "Share of the true run times, cut ones too, in the central 50 % interval: 50 % is right.",
        lambda facts: percent(facts.cover50.mean),
        3,
    ),
    Column(
        "90 %\nholds",
        "Share of the true run times, cut ones too, in the central 90 % interval: 90 % is right, less is too sure.",
        lambda facts: percent(facts.cover90.mean),
        0,
    ),
    Column(
        "90 % holds,\nleast…most",
        "The same in the seeds with the least and the most.",
        lambda facts: _span(facts.cover90, percent),
        6,
        _several,
    ),
    Column(
        "left\nout",
        "Rounds for which there was no forecast yet; no figure counts them.",
        lambda facts: str(facts.left_out),
        5,
        lambda source: any(facts.left_out for facts in source.forecasters),
    ),
    Column(
        "ms per\nround",
        "Milliseconds a round takes to be learnt and forecast.",
        lambda facts: figure(facts.round_ms, 2),
        4,
    ),
)
"""All columns, from left to right."""
