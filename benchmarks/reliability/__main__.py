"""Run the sections named, or all; one line per claim at the end, exit code 1 if any fails.

python -m benchmarks.reliability [TIMES]
    [kills|several|controller|freeze|cut|all_killed|join|bugs|search|fuzz|soak|torchft_kill …]
"""

from __future__ import annotations

import sys

from benchmarks.reliability import (
    all_killed,
    bugs,
    controller,
    cut,
    freeze,
    join,
    kills,
    search,
    several,
    soak,
    torchft_kill,
)
from benchmarks.reliability.fuzz import __main__ as fuzz
from benchmarks.sections import run

SECTIONS = {
    "kills": kills.main,
    "several": several.main,
    "controller": controller.main,
    "freeze": freeze.main,
    "cut": cut.main,
    "all_killed": all_killed.main,
    "join": join.main,
    "bugs": bugs.main,
    "search": search.main,
    "fuzz": fuzz.main,
    "soak": soak.main,
    "torchft_kill": torchft_kill.main,
}
TIMES = 20
"""Faults of each kind."""

if __name__ == "__main__":
    raise SystemExit(run(sys.argv[1:], SECTIONS, TIMES))
