"""The command line: the only reader of arguments and environment, the only writer to the screen.

    entry.py             the program: `main`, exit codes, errors as sentences
    *_command.py         one command each; it adds itself to `app`
    fit_kinds.py         what `fit` can fit
    arguments.py         checks of arguments that several commands share
    threads.py           how many numpy has
    progress.py          the bar, and what to show when work ends early
    watching.py          the live view of a run, for whoever has a terminal

A new command is a new file, and a line below; `--help` lists commands in that order.
"""

# isort: off
from tailcut.cli import threads as threads
from tailcut.cli.entry import app, main
from tailcut.cli import compare_command as compare_command
from tailcut.cli import backtest_command as backtest_command
from tailcut.cli import fit_command as fit_command
from tailcut.cli import study_command as study_command
from tailcut.cli import report_command as report_command
from tailcut.cli import reproduce_command as reproduce_command
from tailcut.cli import launch_command as launch_command
from tailcut.cli import train_command as train_command
from tailcut.cli import watch_command as watch_command
from tailcut.cli import key_command as key_command
from tailcut.cli import controller_command as controller_command
from tailcut.cli import pretrain_command as pretrain_command
from tailcut.cli import list_commands as list_commands
from tailcut.cli import table_command as table_command

# isort: on

__all__ = ["app", "main"]
