"""The network cut between three workers and the rest: one side goes on, the other waits, all agree after."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.claims import Claim, print_table
from tailcut.engines.live.heartbeats import CUT_OFF_MS
from tailcut.testing.chaos.cutting import Cut, cut_run
from tailcut.testing.chaos.faults import Plan

WORKERS, AWAY = 8, 3
SECONDS = (5.0, 60.0)


def main(times: int) -> list[Claim]:
    """Run and judge, once for each policy and duration."""
    del times
    rows, claims = [], []
    for policy in ("wait-all", "backup:share=0.6"):
        for seconds in SECONDS:
            found = once(policy, seconds)
            for violation in found.violations:
                print(f"  {violation}", flush=True)
            figures = [_told(found.went_on), str(found.by_themselves), _told(found.together)]
            rows.append([policy, f"{seconds:g}", *figures, str(len(found.violations))])
            # wait-all also waits for the workers that are cut off, until their silence is noticed.
            must_go_on = policy != "wait-all" or seconds > CUT_OFF_MS / 1000
            well = not found.violations and not found.by_themselves and found.together is not None
            goes_on = "one side goes on" if must_go_on else "one side waits"
            claims.append(
                Claim(
                    f"Cut for {seconds:g} s, {policy}: {goes_on}, all agree",
                    ", ".join(figures),
                    well and (found.went_on is not None or not must_go_on),
                )
            )
    columns = (
        "policy",
        "cut, s",
        "goes on after, s",
        "updates of the other side",
        "together after, s",
        "violations",
    )
    print_table(f"{AWAY} of {WORKERS} workers cut off", columns, rows)
    return claims


def once(policy: str, seconds: float) -> Cut:
    """One run."""
    with tempfile.TemporaryDirectory() as folder:
        plan = Plan((), WORKERS, policy=policy, size=100_000, max_wait=120.0)
        return cut_run(plan, Path(folder) / "run", AWAY, seconds, 120.0 + 2 * seconds)


def _told(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds:.1f}"
