"""`tailcut key`: a new key for a run on several machines, in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tailcut.cli.entry import app
from tailcut.extras import require


@app.command("key")
def key_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="To write; it must not be there yet.")],
) -> None:
    """Make a key for live training on several machines; whoever has the file can take part."""
    require("tailcut key", "zmq")
    from tailcut.engines.live.keys import FILE_NAME, Key, write_key

    write_key(file, Key.new())
    typer.echo(
        f"Copy {file} to every machine, in mode 0600, and set {FILE_NAME} to it there. One run, one key."
    )
