"""Check that the checker finds the bugs that are put into the engine on purpose."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchmarks.claims import Claim, print_table
from benchmarks.reliability.runs import outcome
from tailcut.testing.chaos.bugs import BUGS
from tailcut.testing.chaos.faults import Fault, Plan, kills, numbered

WORKERS, TRIES, KILLS, LIMIT = 5, 4, 3, 120.0
FORKED = "is not the others'"
SHOWS: dict[str, tuple[str, ...]] = {
    "naive repeat": (r"it applied version \d+ again", FORKED),
    "in-place retry": (r"Made once more, the updates lead to other numbers",),
    "no promise": (FORKED, r"after it had promised"),
    "early publication": (r"it published a checkpoint of version \d+",),
}
"""Patterns of the violations that prove each bug; one match is enough. Any other failure proves nothing."""


def main(times: int) -> list[Claim]:
    """Run each bug until the checker finds it, `TRIES` times at most; and run once without a bug."""
    del times
    rows, claims = [], []
    for bug in ("", *BUGS):
        found: list[str] = []
        for seed in range(TRIES if bug else 1):
            told = outcome(bug or "no bug", plan(bug, seed), LIMIT, bool(bug))
            found = showing(bug, told.verdict.violations) if bug else list(told.violations)
            if found:
                break
        rows.append([bug or "none", str(seed + 1), found[0] if found else ""])
        text = f"The checker finds: {bug}" if bug else "The checker finds nothing where there is nothing"
        claims.append(Claim(text, f"{len(found)} violations", bool(found) == bool(bug)))
    print_table("Mistakes made on purpose", ("bug", "runs", "first violation that shows it"), rows)
    return claims


def showing(bug: str, violations: Sequence[str]) -> list[str]:
    """Return the violations that only this bug leads to."""
    return [each for each in violations if any(re.search(words, each) for words in SHOWS[bug])]


def plan(bug: str, seed: int) -> Plan:
    """Return the plan of kills that makes a bug show."""
    if bug == "early publication":
        # Worker 0 writes: it has completed what worker 3 has not, and dies when it has published that.
        once = [Fault(0, 2, "segment", left=2), Fault(0, 0, "published", calm=False, gap=3)]
        return Plan(numbered(once * KILLS), 4, seed, checkpoint_every=1, bug=bug)
    phase = "in the reduction" if bug == "in-place retry" else "between first and last completion"
    return Plan(kills(phase, KILLS, WORKERS, seed), WORKERS, seed, bug=bug)
