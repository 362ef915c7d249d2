"""The backtest told as table, JSON and page."""

from __future__ import annotations

import io
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

from tailcut.report.backtest import backtest_json, backtest_table, write_backtest_page
from tailcut.report.backtest.columns import COLUMNS
from tailcut.report.backtest.words import outcome, setting
from tailcut.report.plots.forecasts import cover_plot, cover_time_plot, pit_plot, rows, score_plot
from tailcut.study.backtest_facts import Backtest, BacktestFacts, ForecasterFacts
from tailcut.study.facts import Spread

NAN = math.nan


def facts(name: str = "stopping", crps: float = 0.02, cover: float = 0.9) -> ForecasterFacts:
    return ForecasterFacts(
        name=name,
        forecaster="Truth" if name == "truth" else "Trend",
        kind="bound" if name == "truth" else "forecaster",
        log_score=Spread(-0.5, -0.7, -0.3),
        order_crps=Spread(0.1, 0.05, 0.2),
        close_crps=Spread(crps, crps / 2, 2 * crps),
        cover50=Spread(0.5, 0.4, 0.6),
        cover90=Spread(cover, cover - 0.05, cover + 0.05),
        pit=(0.05,) * 20,
        left_out=0,
        round_ms=1.25,
        cover90_by_round=np.append(np.full(10, NAN), np.linspace(0.8, 1.0, 90)),
    )


def silent(name: str = "silent") -> ForecasterFacts:
    unknown = Spread(NAN, NAN, NAN)
    return replace(
        facts(name),
        log_score=unknown,
        order_crps=unknown,
        close_crps=unknown,
        cover50=unknown,
        cover90=unknown,
        pit=(0.0,) * 20,
        left_out=90,
        cover90_by_round=np.full(100, NAN),
    )


def source(*some: ForecasterFacts, seeds: int = 3, **changes: object) -> BacktestFacts:
    given = some or (facts("elfving", 0.04, 0.7), facts(), silent(), facts("truth", 0.01))
    made = BacktestFacts("trace.csv", "recorded", 8, 100, 10, seeds, "closed", "stopping", 0.8, given, ())
    return replace(made, **changes)  # type: ignore[arg-type]


def printed(found: BacktestFacts, width: int = 160) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(backtest_table(found))
    return console.export_text()


def page(tmp_path: Path, *sources: BacktestFacts) -> str:
    file = tmp_path / "page.html"
    write_backtest_page(Backtest("tailcut backtest trace.csv", sources), file)
    return file.read_text(encoding="utf-8")


def test_rows_go_from_the_lowest_crps_up_to_the_close_to_those_without_a_forecast() -> None:
    text = printed(source())
    order = [text.index(f"\n{name} ") for name in ("stopping", "elfving", "silent", "truth")]
    assert order == sorted(order)
    assert rows(source()).names == ("stopping", "elfving", "silent", "truth")
    assert rows(source()).policies == 3


def test_a_row_holds_its_figures() -> None:
    line = next(line for line in printed(source()).splitlines() if line.startswith("stopping "))
    for cell in ("0.0200", "0.100", "−0.500", "−0.700…−0.300", "50.0 %", "90.0 %", "85.0 %…95.0 %", "1.2"):
        assert cell in line
    unknown = next(line for line in printed(source()).splitlines() if line.startswith("silent "))
    assert unknown.split()[1:6] == ["–"] * 5
    assert " 90 " in unknown


def test_columns_with_nothing_to_say_are_not_shown() -> None:
    text = printed(source(facts(), seeds=1))
    assert "left" not in text.split("stopping ")[1].split("\n")[0]
    assert "worst" not in text
    assert "least" not in text


def test_a_narrow_terminal_leaves_columns_out_and_says_which() -> None:
    text = printed(source(), width=50)
    assert max(map(len, text.splitlines())) <= 50
    assert "Left out for want of room: log score, worst…best; 90 %" in " ".join(text.split())
    assert "90.0 %" in text


def test_the_setting_and_the_outcome_are_sentences() -> None:
    assert setting(source()) == (
        "8 workers, 100 rounds (first 10 not scored), 3 seeds, closed by stopping, learnt as closed rounds show them "
        "(80 % of the run times)"
    )
    assert setting(source(seeds=1, see="all", warmup=0)) == (
        "8 workers, 100 rounds, closed by stopping, all run times learnt"
    )
    assert outcome(source()) == (
        "`stopping` foresees the rounds best up to their close (CRPS 0.0200 of it); its 90 % interval holds 90.0 %."
    )
    assert outcome(source(silent())) == "No forecaster had a forecast for any of the rounds."


def test_json_is_flat_finite_and_tells_worst_from_best() -> None:
    found = backtest_json(Backtest("", (source(), source())))
    assert [row["policies"] for row in found] == ["elfving", "stopping", "silent", "truth"] * 2
    json.dumps(found, allow_nan=False)
    row = found[1]
    assert (row["log_score"], row["log_score_worst"], row["log_score_best"]) == (-0.5, -0.7, -0.3)
    assert (row["order_crps"], row["order_crps_worst"], row["order_crps_best"]) == (0.1, 0.2, 0.05)
    assert (row["cover90_least"], row["cover90_most"]) == pytest.approx((0.85, 0.95))
    assert row["pit"] == [0.05] * 20
    assert found[2]["log_score"] is None
    assert (found[2]["left_out"], found[3]["kind"], found[3]["forecaster"]) == (90, "bound", "Truth")


def test_the_page_holds_sentence_table_figures_and_glossary(tmp_path: Path) -> None:
    text = page(tmp_path, source(notes=("`elfving` is too sure: it is.",)))
    assert text.startswith("<!doctype html>")
    assert "<code>tailcut backtest trace.csv</code>" in text
    assert '<p class="note" role="note"><code>elfving</code> is too sure: it is.</p>' in text
    assert text.count("<figure>") == text.count("<svg ") == 4
    assert '<tr class="best"><th scope="row">stopping</th>' in text
    for column in COLUMNS:
        assert f"<dt>{column.title}</dt>" in text
    assert not re.search(r"(src|href)=\"(?!#)", text)
    assert "nan" not in re.sub(r"<svg.*?</svg>", "", text, flags=re.S).lower().replace("nanos", "")


def test_every_figure_is_well_formed_also_where_nothing_is_known(tmp_path: Path) -> None:
    for odd in (source(), source(silent()), source(facts("a" * 200)), source(facts(), seeds=1, rounds=11)):
        for svg in re.findall(r"<svg.*?</svg>", page(tmp_path, odd), flags=re.S):
            ElementTree.fromstring(svg.replace("xlink:href", "href"))


def test_the_same_facts_give_the_same_bytes(tmp_path: Path) -> None:
    assert page(tmp_path, source()) == page(tmp_path, source())


def test_several_sources_are_listed_at_the_top(tmp_path: Path) -> None:
    text = page(tmp_path, source(), source(source="<b>.csv"))
    assert '<a href="#source-2">&lt;b&gt;.csv</a>' in text
    assert text.count("<section id=") == 2


def test_a_histogram_is_in_multiples_of_what_is_right() -> None:
    shares = pit_plot(source()).shares
    np.testing.assert_allclose(shares[0], 1.0)
    assert np.isnan(shares[2]).all()


def test_coverage_over_time_is_the_mean_of_windows() -> None:
    plot = cover_time_plot(source())
    assert plot.window == 3
    assert len(plot.at) == 30
    assert plot.at[0] == 12.0
    steps = np.linspace(0.8, 1.0, 90)
    np.testing.assert_allclose(plot.shares[0], steps.reshape(30, 3).mean(axis=1))
    assert np.isnan(plot.shares[2]).all()
    tail = cover_time_plot(source(rounds=101, warmup=10))
    assert tail.at[-1] == 0.5 * (98 + 101)


def test_dots_and_bars_are_the_figures_of_the_table() -> None:
    covers, scores = cover_plot(source()), score_plot(source())
    np.testing.assert_allclose(covers.mean[0], [0.5, 0.9])
    np.testing.assert_allclose(covers.most[1], [0.6, 0.75])
    np.testing.assert_allclose(scores.mean, [0.02, 0.04, NAN, 0.01])
    assert scores.whiskers
