"""Whether the checker finds the mistakes that are made in the engine on purpose."""

from __future__ import annotations

from benchmarks.claims import Claim, print_table
from benchmarks.reliability.runs import outcome
from tailcut.testing.chaos.bugs import BUGS
from tailcut.testing.chaos.faults import Fault, Plan, kills, numbered

WORKERS, TRIES, KILLS, LIMIT = 5, 4, 3, 120.0


def main(times: int) -> list[Claim]:
    """Run until each has shown, a few times at most; and once without any, which must be clean."""
    del times
    rows, claims = [], []
    for bug in ("", *BUGS):
        found: list[str] = []
        for seed in range(TRIES if bug else 1):
            found = list(outcome(bug or "no bug", plan(bug, seed), LIMIT, bool(bug)).verdict.violations)
            if found:
                break
        rows.append([bug or "none", str(seed + 1), found[0] if found else ""])
        text = f"The checker finds: {bug}" if bug else "The checker finds nothing where there is nothing"
        claims.append(Claim(text, f"{len(found)} violations", bool(found) == bool(bug)))
    print_table("Mistakes made on purpose", ("bug", "runs", "first violation"), rows)
    return claims


def plan(bug: str, seed: int) -> Plan:
    """Deaths that bring it out."""
    if bug == "early publication":
        # Worker 0 writes: it has completed what worker 3 has not, and dies when it has published that.
        once = [Fault(0, 2, "segment", left=2), Fault(0, 0, "published", calm=False, gap=3)]
        return Plan(numbered(once * KILLS), 4, seed, checkpoint_every=1, bug=bug)
    phase = "in the reduction" if bug == "in-place retry" else "between first and last completion"
    return Plan(kills(phase, KILLS, WORKERS, seed), WORKERS, seed, bug=bug)
