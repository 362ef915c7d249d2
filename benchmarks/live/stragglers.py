"""Each mini-batch is 10 % likely to take 9 times as long: DDP, torchft, fixed cutoffs, `bayes`."""

from __future__ import annotations

from statistics import mean

from benchmarks.claims import Claim
from benchmarks.live.measure import has_torchft, in_turn, over, show

WORKERS = 8
FIXED = ("backup:c=6", "backup:c=5", "backup:c=4")
MOST_REPEATS = 3
"""A repeat takes three minutes."""


def main(repeats: int) -> list[Claim]:
    """Run and judge."""
    rivals = ["torchft"] if has_torchft() else []
    modes = ["ddp", *rivals, *FIXED, "bayes", "bayes+stop"]
    settings = ["--updates", "60", "--unit", "0.1", "--chance", "0.1", "--hidden", "100"]
    found = in_turn(modes, WORKERS, settings, min(repeats, MOST_REPEATS))
    show(f"10 % of the mini-batches take 9 times as long: {WORKERS} workers, 100 ms of work", found)
    best = max(FIXED, key=lambda mode: mean(run.gradients for run in found[mode]))
    plain, stops, above = over(found, "bayes"), over(found, "bayes+stop"), over(found, "bayes", best)
    return [
        Claim("bayes with an unmodified loop ≥ 1.9 × DDP", f"{plain:.2f}", plain >= 1.9),
        Claim("bayes with until_closed ≥ 2.5 × DDP", f"{stops:.2f}", stops >= 2.5),
        Claim(f"bayes above the best fixed cutoff ({best})", f"{above:.2f}", above > 1.0),
    ]
