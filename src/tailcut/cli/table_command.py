"""`tailcut table`: run times as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tailcut import names
from tailcut.cli.arguments import at_least
from tailcut.cli.entry import app
from tailcut.traces import write_table


@app.command("table")
def table_command(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A run-time table or a named cluster.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="File to write: csv, parquet, jsonl or npz.")
    ],
    rounds: Annotated[int | None, typer.Option(help="How many rounds.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of a named cluster.")] = 0,
) -> None:
    """Write run times as a table: sample a cluster, or turn a file into another format."""
    at_least("seed", seed, 0)
    if rounds is not None:
        at_least("rounds", rounds, 2)
    table = names.source(source).draw(seed, rounds).table
    write_table(table, output)
    print(f"{table.rounds} rounds of {table.workers} workers: {output}")
