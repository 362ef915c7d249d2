"""`tailcut report`: the results of a study, from the journals in its folder."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from tailcut.cli.arguments import check_file, command_line
from tailcut.cli.entry import app
from tailcut.errors import ParameterError
from tailcut.report.words import printable

if TYPE_CHECKING:
    from tailcut.study.grid.facts import StudyFacts

PAGE = "report.html"


@app.command("report")
def report_command(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of a study, finished or not.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help=f"Page to write. Default: {PAGE} in the folder; none with --json or --markdown.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON list on standard output.")] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="The headline table in Markdown on standard output.")
    ] = False,
) -> None:
    """Tell how soon each arm of a study reached its target, and write a page with plots."""
    # Imported only here: these modules take a second to load, and no other command reads journals.
    from tailcut.report.study import study_json, study_markdown, write_study_page
    from tailcut.study.grid.collect import collect
    from tailcut.study.grid.summary import study_facts

    if as_json and markdown:
        raise ParameterError("--json and --markdown both want standard output. Give one of them.")
    page = output if output is not None or as_json or markdown else folder / PAGE
    # Read the folder first: if it does not exist, the error must be about the folder, not about the page.
    found = collect(folder)
    if page is not None:
        check_file("--output", page, PAGE)
    facts = study_facts(found)
    if as_json:
        print(json.dumps(study_json(facts), indent=1, allow_nan=False))
    elif markdown:
        print(study_markdown(facts), end="")
        for note in facts.notes:
            print(f"Note: {printable(note)}", file=sys.stderr)
    else:
        _show(facts)
    if page is not None:
        write_study_page(facts, command_line(), page)
        print(f"Page: {page.resolve()}", file=sys.stderr if as_json or markdown else sys.stdout)


def _show(facts: StudyFacts) -> None:
    from tailcut.report.study import case_table

    console = Console()
    for case in facts.cases:
        console.print(case_table(case))
        console.print()
    for note in facts.notes:
        console.print(f"Note: {printable(note)}", style="yellow", markup=False, highlight=False)
