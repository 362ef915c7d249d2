"""The program `tailcut`, and `python -m tailcut`.

This module imports nothing that takes time: Ctrl-C must not print a traceback while a command is being imported.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

INTERRUPTED = 130
"""Exit code after Ctrl-C."""


def main() -> NoReturn:
    """Import the command line and run it; Ctrl-C meanwhile ends the program with one sentence."""
    before = signal.getsignal(signal.SIGINT)
    try:
        # A process that was started to ignore Ctrl-C, as one in the background, keeps ignoring it.
        if before is signal.default_int_handler:
            # No exception: extension modules that are being imported turn it into others.
            signal.signal(signal.SIGINT, _end)
        from tailcut.cli import load
        from tailcut.cli import main as command_line

        load(sys.argv[1:])
        signal.signal(signal.SIGINT, before)
        command_line()
    except KeyboardInterrupt:
        _end()


def _end(*_: object) -> NoReturn:
    try:
        os.write(2, b"tailcut: Interrupted; nothing was computed.\n")
    finally:
        os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
