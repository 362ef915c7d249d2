"""`tailcut policies`, `tailcut clusters` and `tailcut tasks`: what can be named."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table as RichTable

from tailcut import names
from tailcut.cli.entry import app
from tailcut.study.compare import BOUNDS


@app.command("policies")
def policies_command() -> None:
    """List the policies, one line each."""
    _list([(name, named.about) for name, named in names.policies().items()])
    print(f"Bounds, always shown beside them: {', '.join(BOUNDS)}.")


@app.command("clusters")
def clusters_command() -> None:
    """List the named clusters, one line each."""
    _list([(name, preset.about) for name, preset in names.clusters().items()])
    print(
        "Each takes parameters, as in random:seed=7 or xeon158:states=clock; the latter moves its state by the clock."
    )


@app.command("tasks")
def tasks_command() -> None:
    """List the tasks that a study can train, one line each."""
    known = names.tasks()
    _list([(name, (known[name].__doc__ or "").strip().partition("\n")[0]) for name in known])


def _list(rows: list[tuple[str, str]]) -> None:
    table = RichTable(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for row in rows:
        table.add_row(*row)
    Console().print(table)
