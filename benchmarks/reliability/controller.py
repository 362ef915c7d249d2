"""The controller, killed again and again; and stopped for so long that all connections break."""

from __future__ import annotations

from benchmarks.claims import Claim
from benchmarks.reliability.runs import all_struck, at_most, clean, goings_on, outcome, show
from tailcut.testing.chaos.faults import CONTROLLER, Fault, Plan, numbered

WORKERS, GO_ON, AT_ONCE = 8, 5.0, 5
PER_KILL = 30.0
STOPPED, PER_STOP = 20.0, 60.0
"""Seconds. After fifteen of silence either side takes a connection for broken."""


def main(times: int) -> list[Claim]:
    """Run and judge."""
    runs = [
        outcome("controller killed", plan(min(AT_ONCE, times - done), done), 60.0 + PER_KILL * AT_ONCE)
        for done in range(0, times, AT_ONCE)
    ]
    times = max(1, times // 10)
    stops = outcome("controller stopped", stopped(times), 60.0 + PER_STOP * times)
    show(
        f"{WORKERS} workers, the controller killed, or stopped",
        {"killed": runs, "stopped": [stops]},
    )
    return [
        all_struck("Controller", [*runs, stops]),
        clean("Controller killed", runs),
        at_most("Training goes on in", goings_on(runs), GO_ON),
        clean(f"Controller stopped for {STOPPED:g} s", [stops]),
        at_most(
            "Training goes on, counted from when it was stopped, in", goings_on([stops]), STOPPED + GO_ON
        ),
    ]


def plan(times: int, seed: int) -> Plan:
    """Deaths of the controller, at moments of chance."""
    faults = [
        Fault(0, CONTROLLER, delay=0.013 * (1 + number + seed), phase="controller") for number in range(times)
    ]
    return Plan(numbered(faults), WORKERS, seed, policy="wait-all" if seed % 2 == 0 else "backup:share=0.75")


def stopped(times: int) -> Plan:
    """The controller stands still, for longer than connections last."""
    fault = Fault(0, CONTROLLER, deed="stop", seconds=STOPPED, phase="controller stopped")
    return Plan(numbered([fault] * times), WORKERS, seed=5)
