"""Run the sections named, or all; one line per claim at the end, exit code 1 if any fails.

python -m benchmarks.live [REPEATS] [even|stragglers|kinds|control|prediction …]
"""

from __future__ import annotations

import sys

from benchmarks.live import control, even, kinds, prediction, stragglers
from benchmarks.sections import run

SECTIONS = {
    "even": even.main,
    "stragglers": stragglers.main,
    "kinds": kinds.main,
    "control": control.main,
    "prediction": prediction.main,
}
REPEATS = 5

if __name__ == "__main__":
    raise SystemExit(run(sys.argv[1:], SECTIONS, REPEATS))
