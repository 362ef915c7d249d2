"""Run the sections named, or all; one line per claim at the end, exit code 1 if any fails.

python -m benchmarks.servers [REPEATS] [overhead|stragglers|saturation|traffic|staleness|deaths|lost_nodes …]
"""

from __future__ import annotations

import sys

from benchmarks.sections import run
from benchmarks.servers import deaths, lost_nodes, overhead, saturation, staleness, stragglers, traffic

SECTIONS = {
    "overhead": overhead.main,
    "stragglers": stragglers.main,
    "saturation": saturation.main,
    "traffic": traffic.main,
    "staleness": staleness.main,
    "deaths": lambda repeats: deaths.main(max(repeats, DEATHS)),
    "lost_nodes": lost_nodes.main,
}
DEATHS = 10
"""Least number of deaths of each kind."""
REPEATS = 3

if __name__ == "__main__":
    raise SystemExit(run(sys.argv[1:], SECTIONS, REPEATS))
