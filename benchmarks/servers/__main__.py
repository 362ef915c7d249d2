"""Run the sections named, or all; one line per claim at the end, exit code 1 if any fails.

python -m benchmarks.servers [REPEATS] [overhead|stragglers …]
"""

from __future__ import annotations

import sys

from benchmarks.sections import run
from benchmarks.servers import overhead, stragglers

SECTIONS = {"overhead": overhead.main, "stragglers": stragglers.main}
REPEATS = 3

if __name__ == "__main__":
    raise SystemExit(run(sys.argv[1:], SECTIONS, REPEATS))
