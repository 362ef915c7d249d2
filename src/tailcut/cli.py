"""The command line: the only reader of arguments and environment, the only writer to the screen."""

from __future__ import annotations

import io
import json
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as RichTable

from tailcut import names
from tailcut.errors import InputError, ParameterError, TailcutError
from tailcut.report import as_json, terminal_table, write_page
from tailcut.study.compare import BOUNDS, Setting, compare, steps
from tailcut.study.facts import Comparison, SourceFacts
from tailcut.study.source import Source
from tailcut.traces import write_table

app = typer.Typer(
    name="tailcut",
    help="Synchronous SGD that stops waiting at the right moment.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

BAD_INPUT, FAILED, INTERRUPTED = 2, 1, 130


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line. What a user can mend is said in one sentence on standard error, without a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot show a letter is no reason to fail.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app(args=arguments, prog_name="tailcut", standalone_mode=True)
    except TailcutError as error:
        _fail(str(error), BAD_INPUT if isinstance(error, InputError) else FAILED)
    except KeyboardInterrupt:
        _fail("Interrupted; nothing more was computed.", INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has gone (as with `| head`); leave quietly and keep Python from complaining.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except OSError as error:
        _fail(f"The output cannot be written ({error.strerror}). Send it to another file.", FAILED)
    except MemoryError:
        _fail("There is not enough memory. Take fewer rounds or workers.", FAILED)
    sys.exit(0)


def _fail(sentence: str, code: int) -> NoReturn:
    print(f"tailcut: {' '.join(sentence.split())}", file=sys.stderr)
    sys.exit(code)


@app.command("compare")
def compare_command(
    sources: Annotated[
        list[str], typer.Argument(metavar="SOURCE…", help="Run-time tables (files) or named clusters.")
    ],
    policies: Annotated[
        str | None,
        typer.Option(help="Policies a,b,c; parameters as name:key=value. Default: all usual ones."),
    ] = None,
    as_json_flag: Annotated[bool, typer.Option("--json", help="One JSON list on standard output.")] = False,
    report: Annotated[Path | None, typer.Option(help="Write a self-contained page with plots here.")] = None,
    seeds: Annotated[int, typer.Option(help="Samples of each named cluster.")] = 5,
    rounds: Annotated[int | None, typer.Option(help="Rounds per sample, or of a file.")] = None,
    late: Annotated[str, typer.Option(help="What late workers do: abandon or finish.")] = "abandon",
    overhead: Annotated[
        float | None,
        typer.Option(help="Seconds per round beside waiting. Default: the source's own, 0 for files."),
    ] = None,
    warmup: Annotated[
        int | None, typer.Option(help="First rounds left out of the figures. Default: min(50, 10 %).")
    ] = None,
) -> None:
    """Tell what each policy would have made of these run times."""
    setting = _setting(seeds, rounds, late, overhead, warmup)
    if report is not None:
        _check_writable(report)
    entrants = [names.entrant(spec) for spec in _policy_specs(policies)]
    opened = [names.source(spec) for spec in sources]
    total = sum(steps(one, entrants, setting) for one in opened)
    done: list[SourceFacts] = []
    console = Console()
    ended: KeyboardInterrupt | InputError | None = None
    with _progress(total) as advance:
        try:
            for one in opened:
                done.append(compare(one, entrants, setting, lambda what, one=one: advance(one, what)))  # type: ignore[misc]
        except (KeyboardInterrupt, InputError) as reason:
            # What was finished may have taken hours: show it first.
            ended = reason
    if isinstance(ended, InputError) and not done:
        raise ended
    comparison = Comparison(_command(), tuple(done))
    if as_json_flag:
        print(json.dumps(as_json(comparison), indent=1, allow_nan=False))
    else:
        for facts in done:
            console.print(terminal_table(facts))
            console.print()
    if report is not None and done:
        write_page(comparison, report)
        print(f"Page: {report.resolve()}", file=sys.stderr if as_json_flag else sys.stdout)
    if isinstance(ended, InputError):
        raise ended
    if ended is not None:
        _fail(
            f"Interrupted after {len(done)} of {len(opened)} sources; what was finished is shown.",
            INTERRUPTED,
        )


@app.command("policies")
def policies_command() -> None:
    """List the policies, one line each."""
    _list([(name, named.about) for name, named in names.policies().items()])
    print(f"Bounds, always shown beside them: {', '.join(BOUNDS)}.")


@app.command("clusters")
def clusters_command() -> None:
    """List the named clusters, one line each."""
    _list([(name, preset.about) for name, preset in names.clusters().items()])


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
    _at_least("seed", seed, 0)
    if rounds is not None:
        _at_least("rounds", rounds, 2)
    table = names.source(source).draw(seed, rounds).table
    write_table(table, output)
    print(f"{table.rounds} rounds of {table.workers} workers: {output}")


def _setting(
    seeds: int, rounds: int | None, late: str, overhead: float | None, warmup: int | None
) -> Setting:
    _at_least("seeds", seeds, 1)
    if rounds is not None:
        _at_least("rounds", rounds, 2)
    if warmup is not None:
        _at_least("warmup", warmup, 0)
    if late not in ("abandon", "finish"):
        raise ParameterError(f"--late must be abandon or finish, but got {late!r}. Try --late abandon.")
    if overhead is not None and not 0.0 <= overhead < float("inf"):
        raise ParameterError(f"--overhead must be 0 or more seconds, but got {overhead}. Try --overhead 0.")
    return Setting(late == "finish", overhead, warmup, seeds, rounds)


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise ParameterError(f"--{name} must be at least {least}, but got {value}. Try --{name} {least}.")


def _policy_specs(policies: str | None) -> list[str]:
    if policies is None:
        return [name for name, named in names.policies().items() if named.usual]
    specs = list(dict.fromkeys(spec.strip() for spec in policies.split(",")))
    if "" in specs:
        raise ParameterError(
            f"--policies has an empty name in {policies!r}. Separate names by single commas."
        )
    # Bounds are computed anyway; naming one is no mistake.
    return [spec for spec in specs if spec not in BOUNDS]


def _check_writable(path: Path) -> None:
    """Find out before the work, not after it, that its outcome cannot be written."""
    import_module("tailcut.report.draw")  # It says so itself if the extra is missing.
    folder = path.resolve().parent
    try:
        if path.is_dir():
            raise ParameterError(
                f"--report {path} is a folder. Name a file in it, such as {path / 'page.html'}."
            )
        if not folder.is_dir():
            raise ParameterError(f"--report {path}: the folder {folder} does not exist. Create it first.")
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ParameterError(
            f"--report {path} cannot be written ({error.strerror}). Name a file in another folder."
        ) from error


def _command() -> str:
    return shlex.join(["tailcut", *sys.argv[1:]])


def _list(rows: list[tuple[str, str]]) -> None:
    table = RichTable(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for row in rows:
        table.add_row(*row)
    Console().print(table)


class _Advance:
    """Moves the bar and names what was finished."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=total)

    def __call__(self, source: Source, what: str) -> None:
        self._progress.update(self._task, advance=1, description=f"{Path(source.name).name}: {what}")


@contextmanager
def _progress(total: int) -> Iterator[_Advance]:
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    console = Console(stderr=True)
    # Where nobody watches it would leave an empty line.
    off = not console.is_interactive
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True, disable=off) as progress:
        yield _Advance(progress, total)


if __name__ == "__main__":
    main()
