"""The program: `main`, exit codes, and errors as one sentence each."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from tailcut.cli.streams import OutputError, checked_streams
from tailcut.errors import InputError, TailcutError

BAD_INPUT, FAILED, INTERRUPTED = 2, 1, 130

COMMANDS: Mapping[str, str] = {
    "compare": "compare_command",
    "backtest": "backtest_command",
    "fit": "fit_command",
    "study": "study_command",
    "report": "report_command",
    "reproduce": "reproduce_command",
    "launch": "launch_command",
    "train": "train_command",
    "watch": "watch_command",
    "key": "key_command",
    "controller": "controller_command",
    "pretrain": "pretrain_command",
    "policies": "list_commands",
    "clusters": "list_commands",
    "tasks": "list_commands",
    "table": "table_command",
}
"""Each command and its module, in the order of `--help`."""


class Commands(TyperGroup):
    """The group of all commands; it reports Ctrl-C and system errors, on which typer would exit silently."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands, in the order of `--help`."""
        return list(COMMANDS)

    def make_context(self, *given: Any, **more: Any) -> Any:
        """Parse the arguments; typer imports many of its modules only here, which takes time."""
        with _answering():
            return super().make_context(*given, **more)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        with _answering():
            return super().invoke(ctx)


@contextmanager
def _answering() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        fail("Interrupted; nothing more was computed.", INTERRUPTED)
    except OSError as error:
        # Outside this block typer treats every broken pipe as the end of the reader of standard output.
        _refuse(error)


app = typer.Typer(
    name="tailcut",
    cls=Commands,
    help="Synchronous SGD that stops waiting at the right moment.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        print(f"tailcut {version('tailcut')}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool,
        typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_show_version),
    ] = False,
) -> None:
    """Synchronous SGD that stops waiting at the right moment."""


def load(arguments: Sequence[str]) -> None:
    """Import the module of the called command, or all modules for `--help` and shell completion."""
    first = arguments[0] if arguments else ""
    if first == "--version":
        return
    modules = [COMMANDS[first]] if first in COMMANDS else COMMANDS.values()
    for module in dict.fromkeys(modules):
        import_module(f"tailcut.cli.{module}")


@functools.cache
def _program(commands: int) -> Any:
    """Return the program for this number of commands; cached, because typer builds it from all functions."""
    del commands
    return typer.main.get_command(app)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line; report errors that a user can fix in one sentence, without a traceback."""
    try:
        load(sys.argv[1:] if arguments is None else arguments)
        with checked_streams() as flush:
            try:
                program = _program(len(app.registered_commands) + len(app.registered_groups))
                program(args=arguments, prog_name="tailcut", standalone_mode=True)
            finally:
                # Flush now: when Python exits it is too late to report a failed write.
                flush()
    except OutputError as error:
        if not error.has_reader:
            sys.exit(FAILED)
        fail(str(error), FAILED)
    except TailcutError as error:
        fail(str(error), BAD_INPUT if isinstance(error, InputError) else FAILED)
    except OSError as error:
        _refuse(error)
    except ImportError as error:
        if (error.name or "tailcut").partition(".")[0] == "tailcut":
            raise
        fail(f"{error.name} cannot be imported: {error}. Install it again.", FAILED)
    except MemoryError:
        fail("There is not enough memory. Take fewer rounds or workers.", FAILED)
    except KeyboardInterrupt:
        fail("Interrupted; nothing more was computed.", INTERRUPTED)
    sys.exit(0)


def _refuse(error: OSError) -> NoReturn:
    where = f"{error.filename}: " if error.filename else ""
    fail(f"{where}{error.strerror or error}. Check the file, the disk and the limits of the system.", FAILED)


def fail(sentence: str, code: int) -> NoReturn:
    """End the program with one sentence on standard error."""
    with suppress(OSError):
        print(f"tailcut: {' '.join(sentence.split())}", file=sys.stderr, flush=True)
    sys.exit(code)
