"""The look of arms: each has the same color and dashes in every figure of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tailcut.report.draw import canvas
from tailcut.report.labels import labels

# All are visible on a white and on a black page. The first six are after Okabe and Ito; the others are used
# with dashes, because not everybody can distinguish twelve colors.
COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#c2559d", "#a98600", "#7f8790"),
    *("#7a5bc7", "#3d9bdc", "#9a5a3c", "#6f9a2b", "#d1495b", "#1a9ea6"),
)
Dashes: TypeAlias = tuple[float, tuple[float, ...]]
DASHES: tuple[str | Dashes, ...] = ("-", (0, (4.5, 1.6)), (0, (1.2, 1.3)), (0, (5, 1.5, 1.2, 1.5)))
PER_DASHES = 6


@dataclass(frozen=True, slots=True)
class Look:
    """The look of one arm: label, color and dashes."""

    label: str
    colour: str
    dashes: str | Dashes

    @property
    def line(self) -> dict[str, Any]:
        """The arguments for matplotlib's line of this arm."""
        return {"color": self.colour, "linestyle": self.dashes}


Looks: TypeAlias = Mapping[str, Look]


def looks(arms: Sequence[str]) -> Looks:
    """Return a look for each arm, by its place; beyond 24 arms the looks repeat."""
    short = labels(arms)
    return {
        arm: Look(
            short[arm],
            COLOURS[place % len(COLOURS)],
            DASHES[place // PER_DASHES % len(DASHES)],
        )
        for place, arm in enumerate(arms)
    }


def add_legend(figure: Figure, arms: Sequence[str], looks: Looks) -> None:
    """Add a legend of the arms below the axes."""
    lines = [Line2D([], [], linewidth=2.0, **looks[arm].line) for arm in arms]
    names = [looks[arm].label for arm in arms]
    across = 3 if max(map(len, names), default=0) <= 18 else 2
    figure.legend(lines, names, loc="outside lower center", ncols=across, handlelength=2.6, columnspacing=1.4)


def plain_axes(height: float) -> tuple[Figure, Axes]:
    """Return an empty figure of the page's width, and its axes."""
    figure = Figure(figsize=(canvas.WIDTH, height), layout="constrained")
    axes = figure.subplots()
    axes.grid(axis="y")
    axes.tick_params(axis="y", labelcolor=canvas.MUTED)
    return figure, axes
