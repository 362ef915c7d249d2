"""Run the sections named, or all; one line per claim at the end, exit code 1 if any fails.

python -m benchmarks.reliability [TIMES] [kills|several|controller|freeze|cut|all_killed|bugs|soak …]
"""

from __future__ import annotations

import sys

from benchmarks.reliability import all_killed, bugs, controller, cut, freeze, kills, several, soak
from benchmarks.sections import run

SECTIONS = {
    "kills": kills.main,
    "several": several.main,
    "controller": controller.main,
    "freeze": freeze.main,
    "cut": cut.main,
    "all_killed": all_killed.main,
    "bugs": bugs.main,
    "soak": soak.main,
}
TIMES = 20
"""Faults of each kind."""

if __name__ == "__main__":
    raise SystemExit(run(sys.argv[1:], SECTIONS, TIMES))
