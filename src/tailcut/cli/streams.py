"""Standard output and standard error of the program, with every write checked.

Standard output carries results, so a failed write ends the program. Standard error carries messages for
people; a failed write there cannot be reported and is ignored.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast, final

from tailcut.errors import TailcutError


@final
class OutputError(TailcutError):
    """Standard output cannot be written.

    Attributes:
        has_reader: false for a pipe whose reader has ended, as with `| head`; no message is useful then.
    """

    def __init__(self, problem: OSError) -> None:
        self.has_reader = problem.errno != errno.EPIPE
        super().__init__(f"The output cannot be written ({problem.strerror}). Send it to another file.")


@contextmanager
def checked_streams() -> Iterator[Callable[[], object]]:
    """Check every write to the standard streams while the block runs; yield a function that flushes output.

    Raises:
        OutputError: standard output is closed, or a write failed; the yielded function raises it too.
    """
    _reopen_closed()
    before = sys.stdout, sys.stderr
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Escape the characters that a terminal cannot show, instead of failing.
        sys.stdout.reconfigure(errors="backslashreplace")
    out = _Checked(sys.stdout, OutputError)
    sys.stdout, sys.stderr = cast(TextIO, out), cast(TextIO, _Checked(sys.stderr, None))
    try:
        yield out.flush
    finally:
        sys.stdout, sys.stderr = before


def _reopen_closed() -> None:
    """Open the null device for closed streams: else the next file gets their descriptor, and the output."""
    is_closed = sys.stdout is None
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            file = os.open(os.devnull, os.O_RDWR)
            if file != number:
                os.dup2(file, number)
                os.close(file)
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115
    if is_closed:
        raise OutputError(OSError(errno.EBADF, "standard output is closed"))


@final
class _Checked:
    """A stream whose failed writes raise an error of a given kind; None ignores them."""

    def __init__(self, stream: TextIO, error: Callable[[OSError], Exception] | None) -> None:
        self._stream, self._error = stream, error

    def write(self, text: str) -> int:
        """Write a text."""
        self._try(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        """Flush the stream."""
        self._try(self._stream.flush)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _try(self, write: Callable[[], object]) -> None:
        try:
            write()
        except OSError as problem:
            # Redirect to the null device: buffered text would fail again at exit, and change the exit code.
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            if self._error is not None:
                raise self._error(problem) from problem
