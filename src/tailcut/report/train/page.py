"""Live training as one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path

from tailcut.report import html
from tailcut.report.train.columns import columns
from tailcut.report.train.facts import Training
from tailcut.report.train.words import outcome


def write_training_page(training: Training, path: str | Path) -> None:
    """Write the training as one self-contained page; the same facts give the same bytes.

    Args:
        training: the results of the training.
        path: the file to create or to replace atomically: a failure leaves an existing file unchanged.

    Raises:
        MissingExtraError: matplotlib is not installed.
        InputError: the file cannot be written.
    """
    # Imported only here, so that the terminal and the JSON do not need the extra.
    from tailcut.report.train.figures import training_drawings

    some = columns(training)
    section = html.section(
        1,
        name="Side by side",
        about="Side by side",
        setting=training.setting,
        lead=outcome(training),
        details="",
        notes=(),
        table=_table(training),
        figures=training_drawings(training),
    )
    page = html.document(
        names=[arm.arm for arm in training.arms],
        heading="Trained for real, with stragglers put in",
        lead="Worker processes on one machine, one arm after the other, with the same data and the same delays for "
        "every arm. This page was made by",
        command=training.command,
        parts=[section, html.glossary((column.title, column.meaning) for column in some)],
    )
    html.save(page, path)


def _table(training: Training) -> str:
    some = columns(training)
    order = sorted(training.arms, key=lambda arm: arm is not training.best)
    rows = [[column.cell(training, arm) for column in some] for arm in order]
    return html.figures_table([column.heading for column in some], rows, [])
