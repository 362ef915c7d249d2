"""Processes of the built-in training: what they print, and how they end."""

from __future__ import annotations

import os
import sys
from functools import partial

from tailcut.engines.live.train.processes import in_processes
from tailcut.errors import ParameterError


def speak(fails: bool) -> None:
    """Print in a process its rank and the number of workers, in two pieces."""
    sys.stdout.write(f"worker {os.environ['RANK']}")
    print(f" of {os.environ['WORLD_SIZE']}", file=sys.stdout)
    if fails:
        raise ParameterError("It cannot be done.\nDo something else.")


def test_what_processes_print_is_told_line_by_line() -> None:
    told: list[str] = []
    looks: list[int] = []
    assert (
        in_processes(partial(speak, False), 2, (), tell=told.append, meanwhile=lambda: looks.append(1)) == 0
    )
    assert sorted(told) == ["worker 0 of 2", "worker 1 of 2"]
    assert looks


def test_a_process_that_fails_says_why_in_one_line() -> None:
    told: list[str] = []
    assert in_processes(partial(speak, True), 1, (), tell=told.append) == 1
    assert told == ["worker 0 of 1", "tailcut: It cannot be done. Do something else."]
