"""The program: `main`, exit codes, and errors as one sentence each."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from tailcut.errors import InputError, TailcutError

BAD_INPUT, FAILED, INTERRUPTED = 2, 1, 130


class Commands(TyperGroup):
    """All commands. Ctrl-C is answered here: further out the library would end the program without a word."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            fail("Interrupted; nothing more was computed.", INTERRUPTED)


app = typer.Typer(
    name="tailcut",
    cls=Commands,
    help="Synchronous SGD that stops waiting at the right moment.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line. What a user can mend is said in one sentence on standard error, without a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot show a letter is no reason to fail.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app(args=arguments, prog_name="tailcut", standalone_mode=True)
    except TailcutError as error:
        fail(str(error), BAD_INPUT if isinstance(error, InputError) else FAILED)
    except BrokenPipeError:
        # The reader of our output has gone (as with `| head`); leave quietly and keep Python from complaining.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except OSError as error:
        fail(f"The output cannot be written ({error.strerror}). Send it to another file.", FAILED)
    except MemoryError:
        fail("There is not enough memory. Take fewer rounds or workers.", FAILED)
    sys.exit(0)


def fail(sentence: str, code: int) -> NoReturn:
    """End the program with one sentence on standard error."""
    print(f"tailcut: {' '.join(sentence.split())}", file=sys.stderr)
    sys.exit(code)
