"""Deaths of more than one: two at once, worker and controller, donor and joiner in mid-copy, in a change of epochs."""

from __future__ import annotations

from benchmarks.claims import Claim
from benchmarks.reliability.kills import BACK, GO_ON
from benchmarks.reliability.runs import all_struck, at_most, clean, comings_back, goings_on, outcome, show
from tailcut.testing.chaos.faults import Plan
from tailcut.testing.chaos.faults import several as deaths

WORKERS = 8
LIMIT = 300.0


def main(times: int) -> list[Claim]:
    """Run and judge; each of them a quarter as often as other faults."""
    runs = [
        outcome("several deaths", Plan(deaths(WORKERS, seed), WORKERS, seed), LIMIT)
        for seed in range(max(1, times // 4))
    ]
    show(f"{WORKERS} workers, deaths of more than one", {"all": runs})
    return [
        all_struck("Several deaths", runs),
        clean("Several deaths", runs),
        at_most("Several deaths: the others go on in", goings_on(runs), GO_ON),
        # A worker that is killed again before it was back is counted from the first kill.
        at_most("Several deaths: who was killed takes part again in", comings_back(runs), BACK),
    ]
