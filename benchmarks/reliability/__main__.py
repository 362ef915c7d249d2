"""Run the sections named, or all; one line per claim at the end, exit code 1 if any fails.

python -m benchmarks.reliability [TIMES]
    [kills|several|controller|freeze|cut|all_killed|holders|newest|join|descriptors|bugs|search|fuzz|soak
     |torchft_kill …]
"""

from __future__ import annotations

import sys

from benchmarks.reliability import (
    all_killed,
    bugs,
    controller,
    cut,
    descriptors,
    freeze,
    holders,
    join,
    kills,
    newest,
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
    "holders": holders.main,
    "newest": newest.main,
    "join": join.main,
    "descriptors": descriptors.main,
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
