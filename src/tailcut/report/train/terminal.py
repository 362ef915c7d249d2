"""Live training for a terminal: a table that fits the width, then a sentence."""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from tailcut.report.grid import Grid
from tailcut.report.study.terminal import spelt
from tailcut.report.train.columns import columns
from tailcut.report.train.facts import Training
from tailcut.report.train.words import outcome
from tailcut.report.words import printable


def training_table(training: Training) -> TrainingTable:
    """Return a rich renderable of a training: `console.print(training_table(training))`."""
    return TrainingTable(training)


class TrainingTable:
    """A rich renderable of a training, which leaves out columns that do not fit the width of the terminal."""

    def __init__(self, training: Training) -> None:
        self._training = training

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield setting, table and sentence."""
        training, plain = self._training, options.ascii_only
        some = columns(training)
        rows = tuple(
            tuple(spelt(printable(column.cell(training, arm)), plain) for column in some)
            for arm in training.arms
        )
        grid = Grid(tuple(column.heading for column in some), tuple(column.rank for column in some), rows, ())
        shown, _ = grid.fitting(options.max_width)
        yield Text(spelt(printable(training.setting), plain), style="dim")
        yield Text()
        yield grid.table(shown, plain)
        yield Text()
        yield Text(spelt(printable(outcome(training)).replace("`", ""), plain), style="bold")
