"""`tailcut launch`: a training script in several processes on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tailcut.cli.entry import app
from tailcut.errors import InputError


@app.command("launch", context_settings={"ignore_unknown_options": True})
def launch_command(
    script: Annotated[Path, typer.Argument(metavar="SCRIPT.py", help="The training script.")],
    arguments: Annotated[list[str] | None, typer.Argument(help="Its own arguments.")] = None,
    workers: Annotated[int, typer.Option("-n", help="Worker processes.")] = 2,
) -> None:
    """Run a script that uses `tailcut.Optimizer` in several processes on this machine."""
    from tailcut.engines.live.launch import launch

    if not script.exists():
        raise InputError(f"{script} does not exist. Give the file of a training script.")
    sys.exit(launch([str(script), *(arguments or [])], workers))
