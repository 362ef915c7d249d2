"""`tailcut launch`: a training script in several processes on this machine."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tailcut.cli.entry import app
from tailcut.errors import InputError
from tailcut.extras import LIVE, require


@app.command("launch", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def launch_command(
    script: Annotated[Path, typer.Argument(metavar="SCRIPT.py", help="The training script.")],
    arguments: Annotated[list[str] | None, typer.Argument(help="Its own arguments.")] = None,
    workers: Annotated[int, typer.Option("-n", help="Worker processes.")] = 2,
    restarts: Annotated[
        int,
        typer.Option(help="How often each worker that is killed is started again."),
    ] = 0,
    prefix: Annotated[
        bool,
        typer.Option(
            help="Begin each line with the rank of the worker that prints it, where there are several."
        ),
    ] = True,
    watch: Annotated[
        Path | None, typer.Option(help="Show how the run stands that the script keeps in this folder.")
    ] = None,
) -> None:
    """Run a script that uses `tailcut.Optimizer` in several processes on this machine."""
    require("tailcut launch", *LIVE)
    from tailcut.engines.live.launch import launch

    if not script.exists():
        raise InputError(f"{script} does not exist. Give the file of a training script.")
    command, prefix = [str(script), *(arguments or [])], prefix and workers > 1
    console = Console()
    if watch is None or not console.is_interactive:
        sys.exit(launch(command, workers, restarts=restarts, prefix=prefix))
    from tailcut.cli.watching import shown

    with shown([watch], console) as refresh:
        tell = partial(console.print, markup=False, highlight=False)
        code = launch(command, workers, restarts=restarts, prefix=prefix, tell=tell, meanwhile=refresh)
    sys.exit(code)
