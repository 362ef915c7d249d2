"""`tailcut study`: train in virtual time, task × cluster × arm × seed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tailcut import names
from tailcut.cli.entry import INTERRUPTED, app, fail
from tailcut.errors import InputError, ParameterError
from tailcut.extras import require


@app.command("study")
def study_command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE.toml", help="The study: tasks, clusters, arms, seeds.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder of journals. Default: the file's name, in out/."),
    ] = None,
    processes: Annotated[int | None, typer.Option(help="Processes at once. Default: one per core.")] = None,
) -> None:
    """Train real nets under every policy on a virtual clock; the folder can be taken up again at any time."""
    from tailcut.study.grid.config import study_in, study_text

    if processes is not None and processes < 1:
        raise ParameterError(
            f"--processes must be at least 1, but got {processes}. Leave it out for one per core."
        )
    # Read the file once, so that the folder records exactly the text that was parsed.
    text = study_text(file)
    study = study_in(text, file)
    require(
        "tailcut study", "torch", *(module for task in study.tasks for module in names.task_modules(task))
    )
    from tailcut.study.grid.folder import Folder
    from tailcut.study.grid.grid import Grid
    from tailcut.study.grid.makers import Makers

    folder = Folder(out or Path("out") / file.stem)
    grid = Grid(study, Makers(names.task, names.source, names.entrant), folder, processes)
    grid.check()
    folder.claim(text)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    console = Console(stderr=True)
    with Progress(
        *columns, TimeElapsedColumn(), console=console, transient=True, disable=not console.is_interactive
    ) as progress:
        bar = progress.add_task("looking everything up", total=None)
        try:
            runs = grid.carry_out(
                lambda what, done, total: progress.update(bar, description=what, completed=done, total=total),
                lambda sentence: progress.console.print(f"Note: {sentence}", markup=False, highlight=False),
            )
        except KeyboardInterrupt:
            progress.stop()
            fail(
                f"Interrupted. What has ended is kept in {folder.root}; run the same command again to go on.",
                INTERRUPTED,
            )
        except OSError as problem:
            raise InputError(
                f"{problem.filename or folder.root} cannot be written: {problem.strerror}. Make room and run the same "
                "command again: what has ended is kept."
            ) from problem
    print(
        f"{runs} runs in {folder.root.resolve()}; see them with: tailcut report {folder.root}",
        file=sys.stderr,
    )
