"""`tailcut reproduce`: a paper's experiments, scaled down, each claim judged."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tailcut import names
from tailcut.cli.arguments import at_least, command_line
from tailcut.cli.entry import INTERRUPTED, app, fail
from tailcut.errors import InputError, UnknownNameError
from tailcut.extras import require


@app.command("reproduce")
def reproduce_command(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="chen2016 or bdsgd2018.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of results and page. Default: out/PAPER.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="The larger version: hours instead of minutes.")
    ] = False,
    data: Annotated[
        Path | None, typer.Option(help="A folder with MNIST for the training curves, instead of digits.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="All findings as one JSON object on standard output.")
    ] = False,
    processes: Annotated[int | None, typer.Option(help="Processes at once. Default: one per core.")] = None,
) -> None:
    """Run a scaled-down version of a paper's experiments; say of each claim whether it holds here."""
    task = "digits" if data is None else f"mnist:folder={data}"
    require("tailcut reproduce", *names.task_modules(task), "matplotlib")
    # Imported only here: torch is slow to load, and most commands do not need it.
    from tailcut.report.reproduce import claims_table, reproduction_json, write_reproduction_page
    from tailcut.study.grid.makers import Makers
    from tailcut.study.reproduce.carry_out import carry_out
    from tailcut.study.reproduce.experiment import Bench
    from tailcut.study.reproduce.findings import Reproduction
    from tailcut.study.reproduce.papers import EDITION, PAPERS
    from tailcut.study.reproduce.shelf import Shelf

    if paper not in PAPERS:
        raise UnknownNameError("paper", paper, PAPERS)
    if processes is not None:
        at_least("processes", processes, 1)
    level = "full" if full else "quick"
    names.task(task)  # Refuse data that cannot be read before any work is done.
    shelf = Shelf(out or Path("out") / (f"{paper}-full" if full else paper))
    try:
        kept = shelf.claim({"paper": paper, "level": level, "task": task, "edition": EDITION})
        bench = Bench(Makers(names.task, names.source, names.entrant), shelf.models, task)
        with _bar() as progress:
            bar = progress.add_task(paper, total=None)
            findings = carry_out(
                PAPERS[paper].experiments(bench, full),
                shelf,
                kept,
                processes,
                lambda what, done, total: progress.update(bar, description=what, completed=done, total=total),
            )
        found = Reproduction(paper, PAPERS[paper].title, command_line(), level, findings)
        shelf.write_claims(reproduction_json(found))
    except KeyboardInterrupt:
        fail(
            f"Interrupted. What has ended is kept in {shelf.root}; run the same command again to go on.",
            INTERRUPTED,
        )
    except OSError as problem:
        raise InputError(
            f"{problem.filename or shelf.root} cannot be written: {problem.strerror}. Make room and run the same "
            "command again: what has ended is kept."
        ) from problem
    write_reproduction_page(found, shelf.page)
    if as_json:
        print(json.dumps(reproduction_json(found), indent=1, allow_nan=False))
    else:
        Console().print(claims_table(found))
    print(f"Page: {shelf.page.resolve()}", file=sys.stderr if as_json else sys.stdout)


def _bar() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    console = Console(stderr=True)
    off = not console.is_interactive
    return Progress(*columns, TimeElapsedColumn(), console=console, transient=True, disable=off)
