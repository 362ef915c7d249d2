"""Nothing straggles: wait-all through tailcut beside DDP and torchft, and where the time of a large net goes."""

from __future__ import annotations

from benchmarks.claims import Claim
from benchmarks.live.measure import has_torchft, in_turn, over, show

LEAST = 0.95
SMALL, LARGE = "13000", "333000"
"""Hidden units that make a net of one million, and of 25 million parameters."""


def main(repeats: int) -> list[Claim]:
    """Run and judge."""
    modes = ["ddp", "wait-all", *(["torchft"] if has_torchft() else [])]
    claims = []
    for workers in (4, 8):
        settings = ["--updates", "60", "--unit", "0.05", "--hidden", SMALL]
        found = in_turn(modes, workers, settings, repeats)
        show(f"Nothing straggles: {workers} workers, 1 M parameters, 50 ms of work", found)
        ratio = over(found, "wait-all")
        claims.append(
            Claim(
                f"wait-all ≥ {LEAST} of DDP, {workers} workers, 1 M parameters",
                f"{ratio:.3f}",
                ratio >= LEAST,
            )
        )
    large = in_turn(modes, 4, ["--updates", "10", "--unit", "0.05", "--hidden", LARGE], max(1, repeats // 2))
    show("Nothing straggles: 4 workers, 25 M parameters, 50 ms of work", large)
    return claims
