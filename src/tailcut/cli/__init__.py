"""The command line: the only reader of arguments and environment, the only writer to the screen.

    entry.py             the program: `main`, the commands, exit codes, errors as sentences
    *_command.py         one command each; it adds itself to `app`
    fit_kinds.py         what `fit` can fit
    arguments.py         checks of arguments that several commands share
    threads.py           the number of threads that numpy uses
    progress.py          the progress bar, and the results that are kept when work ends early
    watching.py          the live view of a run in a terminal

A new command is a new file, and a line of `COMMANDS` in entry.py. A command is imported when it is called:
most of them need packages that the others do not.
"""

# isort: off
from tailcut.cli import threads as threads
from tailcut.cli.entry import app, load, main

# isort: on

__all__ = ["app", "load", "main"]
