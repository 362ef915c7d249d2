"""`tailcut backtest`: forecasters side by side on one-step-ahead scores."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, cast

import typer
from rich.console import Console

from tailcut import names
from tailcut.cli.arguments import check_jobs, check_sampling, check_writable, command_line, listed
from tailcut.cli.entry import app
from tailcut.cli.progress import each_source
from tailcut.errors import ParameterError
from tailcut.forecast import NoForecast
from tailcut.report.backtest import backtest_json, backtest_table, write_backtest_page
from tailcut.study.backtest import (
    TRUTH,
    BacktestSetting,
    Contender,
    backtest,
    backtest_steps,
    contenders,
    refuse_closing,
)
from tailcut.study.backtest_facts import Backtest, BacktestFacts
from tailcut.study.compare import processes_for
from tailcut.study.lessons import See


@app.command("backtest")
def backtest_command(
    sources: Annotated[
        list[str], typer.Argument(metavar="SOURCE…", help="Run-time tables (files) or named clusters.")
    ],
    policies: Annotated[
        str | None,
        typer.Option(help="Score the forecasters of policies a,b,c. Default: of all usual ones."),
    ] = None,
    see: Annotated[
        str, typer.Option(help="What is learnt: all run times, or what closed rounds show.")
    ] = "closed",
    close: Annotated[str, typer.Option(help="The policy that closes the rounds.")] = "stopping",
    as_json_flag: Annotated[bool, typer.Option("--json", help="One JSON list on standard output.")] = False,
    report: Annotated[Path | None, typer.Option(help="Write a self-contained page with plots here.")] = None,
    seeds: Annotated[int, typer.Option(help="Samples of each named cluster.")] = 5,
    rounds: Annotated[int | None, typer.Option(help="Rounds per sample, or of a file.")] = None,
    warmup: Annotated[
        int | None, typer.Option(help="First rounds that are not scored. Default: min(50, 10 %).")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Processes at once. Default: one per core, where that is worth it.")
    ] = None,
) -> None:
    """Tell how well each policy's forecaster foresees the next round."""
    check_jobs(jobs)
    setting = _setting(see, close, seeds, rounds, warmup)
    if report is not None:
        check_writable(report)
    some = _contenders(policies)
    opened = [names.source(spec) for spec in sources]
    total = sum(backtest_steps(one, some, setting) for one in opened)
    processes = processes_for(opened, len(some), setting, jobs)
    console = Console()

    def show(facts: BacktestFacts) -> None:
        if not as_json_flag:
            console.print(backtest_table(facts))
            console.print()

    finished = each_source(
        opened, total, lambda one, told: backtest(one, some, setting, told.step, processes=processes), show
    )
    found = Backtest(command_line(), finished.facts)
    if as_json_flag:
        print(json.dumps(backtest_json(found), indent=1, allow_nan=False))
    if report is not None and finished.facts:
        write_backtest_page(found, report)
        print(f"Page: {report.resolve()}", file=sys.stderr if as_json_flag else sys.stdout)
    finished.say_why()


def _setting(see: str, close: str, seeds: int, rounds: int | None, warmup: int | None) -> BacktestSetting:
    check_sampling(seeds, rounds, warmup)
    if see not in ("all", "closed"):
        raise ParameterError(f"--see must be all or closed, but got {see!r}. Try --see closed.")
    closing = names.entrant(close)
    refuse_closing(closing)
    return BacktestSetting(cast(See, see), closing, warmup, seeds, rounds)


def _contenders(policies: str | None) -> list[Contender]:
    if policies is not None:
        return contenders([names.entrant(spec) for spec in listed(policies, always=[TRUTH])])
    usual = [names.entrant(name) for name, named in names.policies().items() if named.usual]
    return contenders([one for one in usual if not isinstance(one.policy.forecaster, NoForecast)])
