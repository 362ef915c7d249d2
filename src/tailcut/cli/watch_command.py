"""`tailcut watch`: a live view of a training, from the files in its folder."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live

from tailcut.cli.entry import app
from tailcut.cli.watching import Watched
from tailcut.errors import InputError
from tailcut.types import Seconds

EVERY: Seconds = 0.25
"""Pause between two reads of the run's folder, in seconds."""
PATIENCE: Seconds = 60.0
"""Seconds without news after which a run counts as broken off: a killed controller cannot record its end."""


@app.command("watch")
def watch_command(
    folder: Annotated[
        Path, typer.Argument(metavar="RUN_FOLDER", help="That a live training is recorded in (journal=).")
    ],
    once: Annotated[bool, typer.Option("--once", help="Print how it stands, once.")] = False,
) -> None:
    """Show what goes on in a live training: workers, cutoff, throughput, time saved. Ends with the run."""
    console, watched = Console(), Watched(folder)
    if once:
        view = watched.look()
        if view is None:
            raise InputError(f"{folder} holds no run. Give the folder named by journal= in a live training.")
        console.print(view)
        return
    try:
        if Watched(folder).look() is None:
            print(
                f"Waiting up to {PATIENCE:.0f} s for a run to begin in {folder}.", file=sys.stderr, flush=True
            )
        watch(watched, console)
    except KeyboardInterrupt:
        # Ctrl-C ends only the view; the run continues.
        return


def watch(watched: Watched, console: Console, pause: Callable[[Seconds], None] = time.sleep) -> None:
    """Show a run until it ends.

    Raises:
        InputError: for `PATIENCE` seconds no run has begun, or the run has written nothing.
    """
    with Live(console=console, auto_refresh=False) as live:
        waited: Seconds = 0.0
        while not watched.over:
            view = watched.look()
            if view is not None:
                live.update(view, refresh=True)
            waited = waited + EVERY if watched.now is None else 0.0
            if max(waited, watched.age) >= PATIENCE and not watched.over:
                raise InputError(_nothing(view is not None))
            if not watched.over:
                pause(EVERY)


def _nothing(begun: bool) -> str:
    if begun:
        return (
            f"Nothing was written to the run's folder for {PATIENCE:.0f} s: its controller was ended, or its disk is "
            "full. What was recorded can be compared all the same."
        )
    return f"No run began in {PATIENCE:.0f} s. Give the folder named by journal= in a live training."
