"""docs/backtest.md explains all that the command can be told and all that it tells."""

from __future__ import annotations

from pathlib import Path

import typer

from tailcut import cli, names
from tailcut.report.backtest import backtest_json
from tailcut.report.backtest.columns import COLUMNS
from tailcut.study.backtest import BacktestSetting, backtest
from tailcut.study.backtest_facts import Backtest

PAGE = (Path(__file__).parents[2] / "docs" / "backtest.md").read_text(encoding="utf-8")


def test_every_column_and_every_key() -> None:
    facts = backtest(names.source("demo8"), [], BacktestSetting(seeds=1, rounds=20))
    for key in backtest_json(Backtest("", (facts,)))[0]:
        stem, _, ending = key.rpartition("_")
        spelt = f"`{key}`" in PAGE or (f"`{stem}`" in PAGE and f"`_{ending}`" in PAGE)
        assert spelt, f"docs/backtest.md does not explain {key}"
    for column in COLUMNS:
        assert f"| {column.title} |" in PAGE, f"docs/backtest.md does not explain {column.title}"


def test_every_option() -> None:
    command = typer.main.get_command(cli.app).commands["backtest"]  # type: ignore[attr-defined]
    options = {option for parameter in command.params for option in parameter.opts if option.startswith("--")}
    for option in options - {"--help"}:
        assert f"| `{option}` |" in PAGE, f"docs/backtest.md does not explain {option}"
