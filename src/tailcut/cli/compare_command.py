"""`tailcut compare`: what each policy would have made of the same run times."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tailcut import names
from tailcut.cli.arguments import check_jobs, check_sampling, check_writable, command_line, listed
from tailcut.cli.entry import app
from tailcut.cli.progress import Told, each_source
from tailcut.errors import ParameterError
from tailcut.report import as_json, terminal_table, write_page
from tailcut.report.words import row
from tailcut.study.compare import BOUNDS, Setting, compare, processes_for, steps
from tailcut.study.facts import Comparison, SourceFacts
from tailcut.study.source import Source


@app.command("compare")
def compare_command(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE…", help="Run-time tables (files), folders of recorded runs, or clusters."
        ),
    ],
    policies: Annotated[
        str | None,
        typer.Option(help="Policies a,b,c; parameters as name:key=value. Default: all usual ones."),
    ] = None,
    as_json_flag: Annotated[bool, typer.Option("--json", help="One JSON list on standard output.")] = False,
    report: Annotated[Path | None, typer.Option(help="Write a self-contained page with plots here.")] = None,
    seeds: Annotated[int, typer.Option(help="Samples of each named cluster.")] = 5,
    rounds: Annotated[int | None, typer.Option(help="Rounds per sample, or of a file.")] = None,
    late: Annotated[
        str | None,
        typer.Option(help="What late workers do: abandon or finish. Default: as in the run, or abandon."),
    ] = None,
    overhead: Annotated[
        float | None,
        typer.Option(help="Seconds per round beside waiting. Default: the source's own, 0 for tables."),
    ] = None,
    warmup: Annotated[
        int | None, typer.Option(help="First rounds left out of the figures. Default: min(50, 10 %).")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Processes at once. Default: one per core, where that is worth it.")
    ] = None,
) -> None:
    """Tell what each policy would have made of these run times."""
    check_jobs(jobs)
    setting = _setting(seeds, rounds, late, overhead, warmup)
    if report is not None:
        check_writable(report)
    entrants = [names.entrant(spec) for spec in _policy_specs(policies)]
    opened = [names.source(spec) for spec in sources]
    total = sum(steps(one, entrants, setting) for one in opened)
    processes = processes_for(opened, len(entrants), setting, jobs)
    console = Console()

    def work(one: Source, told: Told) -> SourceFacts:
        return compare(
            one,
            entrants,
            setting,
            told.step,
            processes=processes,
            finished=lambda facts: told.row(row(facts)),
        )

    def show(facts: SourceFacts) -> None:
        if not as_json_flag:
            console.print(terminal_table(facts))
            console.print()

    finished = each_source(opened, total, work, show)
    comparison = Comparison(command_line(), finished.facts)
    if as_json_flag:
        print(json.dumps(as_json(comparison), indent=1, allow_nan=False))
    if report is not None and finished.facts:
        write_page(comparison, report)
        print(f"Page: {report.resolve()}", file=sys.stderr if as_json_flag else sys.stdout)
    finished.say_why()


def _setting(
    seeds: int, rounds: int | None, late: str | None, overhead: float | None, warmup: int | None
) -> Setting:
    check_sampling(seeds, rounds, warmup)
    if late not in (None, "abandon", "finish"):
        raise ParameterError(f"--late must be abandon or finish, but got {late!r}. Try --late abandon.")
    if overhead is not None and not 0.0 <= overhead < float("inf"):
        raise ParameterError(f"--overhead must be 0 or more seconds, but got {overhead}. Try --overhead 0.")
    return Setting(None if late is None else late == "finish", overhead, warmup, seeds, rounds)


def _policy_specs(policies: str | None) -> list[str]:
    if policies is None:
        return [name for name, named in names.policies().items() if named.usual]
    return listed(policies, always=BOUNDS)
