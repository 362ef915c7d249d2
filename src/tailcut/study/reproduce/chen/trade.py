"""Updates times seconds per update, by the number of backups: the product, its tables and its plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tailcut.study.reproduce.chen.iterations import Fit
from tailcut.study.reproduce.findings import Line, Plot, Sheet
from tailcut.study.reproduce.judge import Measure, mean

UPDATES = Measure("updates", digits=0)
PAPERS_SHARE = 25
"""Workers per backup in the paper, which had 4 backups of 100 workers."""


@dataclass(frozen=True, slots=True)
class Trade:
    """Time to converge on one cluster of n workers, by the number of backups.

    Attributes:
        cluster: its name without the number of workers.
        n: number of workers.
        regime: dependence of updates on their gradients, in words.
        seconds: `(n,)` time to converge in seconds, for b = 0, 1, …, n − 1.

    Example:
        >>> Trade.of("two fast, one slow", "", [1.0, 1.0, 9.0], Fit(0.0, 6.0), 1).best
        1
    """

    cluster: str
    n: int
    regime: str
    seconds: tuple[float, ...]

    @staticmethod
    def of(cluster: str, regime: str, times: Sequence[float], fit: Fit, batch: int) -> Trade:
        """Return a trade from the mean seconds of each order statistic and the fit of updates."""
        n = len(times)
        seconds = tuple(fit((n - b) * batch) * times[n - b - 1] for b in range(n))
        return Trade(cluster, n, regime, seconds)

    @property
    def best(self) -> int:
        """The best number of backups."""
        return min(range(self.n), key=lambda b: self.seconds[b])

    def over_best(self, b: int) -> float:
        """Return the time with b backups over the time with the best number."""
        return self.seconds[b] / self.seconds[self.best]

    @property
    def many(self) -> int:
        """A number of backups that is too large: three quarters of the workers."""
        return 3 * self.n // 4

    @property
    def papers(self) -> int:
        """The number of backups at the paper's share."""
        return round(self.n / PAPERS_SHARE)


def best_sheet(trades: Sequence[Trade]) -> Sheet:
    """Return the table of best numbers of backups."""
    rows = tuple(
        (
            f"{trade.cluster}, n = {trade.n}",
            trade.regime,
            str(trade.best),
            f"{100 * trade.best / trade.n:.0f} %",
            f"{trade.seconds[trade.best]:.0f} s",
            f"{trade.over_best(0):.2f}",
            f"{trade.over_best(trade.papers):.2f}",
            f"{trade.over_best(trade.many):.2f}",
        )
        for trade in trades
    )
    headings = ("cluster", "updates", "b*", "b* / n", "time at b*", "b = 0", "b = n / 25", "b = 3n / 4")
    return Sheet("Best number of backups; other times as multiples of the best", headings, rows)


def curves_plot(trades: Sequence[Trade]) -> Plot:
    """Return the plot of the time by b, over the best time."""
    lines = []
    for trade in trades:
        few = range(trade.many + 1)
        name = f"{trade.cluster}, {trade.regime}"
        lines.append(Line(name, tuple(float(b) for b in few), tuple(trade.over_best(b) for b in few)))
    return Plot(
        f"Time to converge by the number of backups, N + b = {trades[0].n}",
        "As a multiple of the time at the best b.",
        "backups b",
        "time over the best",
        tuple(lines),
        y_log=True,
    )


def scaling_plot(trades: Sequence[Trade]) -> Plot:
    """Return the plot of b*/n by n, b* being the best number of backups."""
    lines = []
    for cluster, regime in dict.fromkeys((trade.cluster, trade.regime) for trade in trades):
        mine = [trade for trade in trades if (trade.cluster, trade.regime) == (cluster, regime)]
        sizes = tuple(float(trade.n) for trade in mine)
        shares = tuple(100.0 * trade.best / trade.n for trade in mine)
        lines.append(Line(f"{cluster}, {regime}", sizes, shares))
    return Plot(
        "How the best number of backups scales",
        "The share of the workers that is best not waited for.",
        "workers n",
        "b* / n, %",
        tuple(lines),
        x_log=True,
        steps=True,
    )


def check_plot(trade: Trade, checks: Mapping[int, Sequence[float]]) -> Plot:
    """Return the plot of the product against trainings."""
    few = range(trade.n // 2 + 1)
    product = Line("updates · seconds", tuple(float(b) for b in few), trade.seconds[: len(few)])
    return Plot(
        f"The same in training: {trade.cluster}, {trade.n} workers",
        "Dots: trained in virtual time, mean and range of the seeds. Line: updates(N) · E[x_(N) of n].",
        "backups b",
        "virtual seconds to the target",
        (product, spread_dots("trained", checks)),
        y_log=True,
    )


def updates_sheet(measured: Mapping[int, Sequence[float]], fit: Fit) -> Sheet:
    """Return the table of updates by samples in an update."""
    rows = tuple((str(n), UPDATES.told(values), f"{fit(n):.0f}") for n, values in measured.items())
    return Sheet("Updates to the target, mean (worst–best)", ("samples S", "measured", "fitted"), rows)


def updates_plot(measured: Mapping[int, Sequence[float]], fit: Fit) -> Plot:
    """Return the plot of updates by samples in an update, with the fit."""
    counts = tuple(float(count) for count in measured)
    return Plot(
        "Updates to the target by the samples in each",
        f"Fitted: {fit.least:.1f} + {fit.extra:.0f}/S; beyond S = {fit.noise:.0f} more samples save less than half.",
        "samples in an update, S",
        "updates to the target",
        (Line("fitted", counts, tuple(fit(count) for count in counts)), spread_dots("measured", measured)),
        x_log=True,
        y_log=True,
    )


def order_plot(times: Mapping[str, Sequence[float]]) -> Plot:
    """Return the plot of the mean seconds until the j-th gradient is in, by cluster."""
    n = len(next(iter(times.values())))
    arrivals = tuple(float(j) for j in range(1, n + 1))
    return Plot(
        f"When the j-th of {n} gradients is in",
        "Mean seconds from the opening of a round to its j-th arrival.",
        "arrival j",
        "seconds",
        tuple(Line(cluster, arrivals, tuple(seconds)) for cluster, seconds in times.items()),
        y_log=True,
    )


def spread_dots(name: str, values: Mapping[int, Sequence[float]]) -> Line:
    """Return dots at the means, with the range over the seeds."""
    found = tuple(values.values())
    return Line(
        name,
        tuple(float(x) for x in values),
        tuple(mean(some) for some in found),
        tuple(max(some) for some in found),
        tuple(min(some) for some in found),
        "dots",
    )
