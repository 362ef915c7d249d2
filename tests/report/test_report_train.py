"""Live training in words, in a table and on a page."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tailcut.engines.live.train.summary import Trained
from tailcut.learning.tasks.base import Target
from tailcut.report.train import Training, training_table, write_training_page
from tailcut.report.train.columns import columns, over_ddp, sooner
from tailcut.report.train.words import outcome


def trained(arm: str, seconds: float, to_target: float | None, counts: tuple[int, ...] = (8, 8)) -> Trained:
    looks = ((0, 0.0, {"accuracy": 0.1}), (2, seconds, {"accuracy": 0.96}))
    made = tuple(seconds * (k + 1) / len(counts) for k in range(len(counts)))
    gradients = sum(counts)
    return Trained(arm, 8, len(counts), seconds, gradients, 20, (0.5,) * 8, to_target, made, counts, looks)


GOAL = Target("accuracy", 0.95, "least")
BOTH = Training(
    "tailcut train <b>",
    "digits. Workers are held up.",
    GOAL,
    (trained("ddp", 16.0, 12.0), trained("bayes", 4.0, 3.0, (6, 6))),
)


def test_ratios_are_over_ddp() -> None:
    ddp, bayes = BOTH.arms
    assert over_ddp(BOTH, bayes) == pytest.approx(3.0)
    assert sooner(BOTH, bayes) == pytest.approx(4.0)
    assert over_ddp(BOTH, ddp) == sooner(BOTH, ddp) == 1.0


def test_the_sentence_tells_who_was_first_and_what_ddp_took() -> None:
    assert outcome(BOTH) == (
        "`bayes` is the first at 95 % accuracy, after 3.00 s, with 3.00 × plain DDP's gradients per second; "
        "plain DDP takes 12.0 s."
    )


def test_the_sentence_where_ddp_or_nobody_gets_there() -> None:
    ddp, bayes = BOTH.arms
    lost = replace(BOTH, arms=(replace(ddp, to_target=None), bayes))
    assert outcome(lost).endswith("plain DDP did not get there.")
    nobody = replace(BOTH, arms=(replace(bayes, to_target=None),))
    assert outcome(nobody) == "Nobody got to 95 % accuracy; `bayes` used most gradients per second."
    alone = replace(BOTH, arms=(bayes,))
    assert outcome(alone) == "`bayes` is the first at 95 % accuracy, after 3.00 s."


def test_without_ddp_nothing_is_measured_by_it() -> None:
    alone = replace(BOTH, arms=BOTH.arms[1:])
    assert {column.title for column in columns(BOTH)} - {column.title for column in columns(alone)} == {
        "over ddp",
        "sooner than ddp",
    }


@pytest.mark.parametrize("width", [60, 160])
def test_the_table_fits_and_keeps_what_matters(width: int) -> None:
    console = Console(file=io.StringIO(), width=width, legacy_windows=False)
    console.print(training_table(BOTH))
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert max(map(len, shown.splitlines())) <= width
    assert "3.00 ×" in shown
    assert "Workers are held up" in shown
    assert ("updates" in shown) == (width == 160)


def test_the_page_stands_alone_and_escapes_what_it_is_told(tmp_path: Path) -> None:
    write_training_page(BOTH, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count("<svg") == 4
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "train &lt;b&gt;" in page
    write_training_page(BOTH, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text() == page
