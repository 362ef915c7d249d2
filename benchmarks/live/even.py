"""Compare wait-all through tailcut with DDP and torchft without stragglers; time the parts of an update."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from benchmarks.claims import Claim, print_table
from benchmarks.live.measure import has_torchft, in_turn, measured, over, show

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
    show_phases(["--updates", "20", "--unit", "0.05", "--hidden", LARGE])
    return claims


def show_phases(settings: list[str]) -> None:
    """Print how long each part of an update of a large net takes at worker 0."""
    with tempfile.TemporaryDirectory() as folder:
        update = measured("wait-all", 4, [*settings, "--phases"], Path(folder)).update
        phases = json.loads(Path(folder, "0.json").read_text())["phases"]
    updates = int(settings[settings.index("--updates") + 1])
    parts = {name: seconds / updates for name, seconds in phases.items()}
    parts["forward, backward, 50 ms asleep"] = update - sum(parts.values())
    rows = [[name, f"{1e3 * each:.0f}", f"{100 * each / update:.0f} %"] for name, each in parts.items()]
    print_table(f"Where an update of 25 M parameters goes: {1e3 * update:.0f} ms", ("", "ms", "share"), rows)
