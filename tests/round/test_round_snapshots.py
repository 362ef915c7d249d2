"""The state of a run, taken out and put back."""

from __future__ import annotations

from typing import Any

import numpy as np
from round_scripts import closing, play, who

from tailcut.events import (
    Applied,
    Arrived,
    CloseRound,
    Command,
    Event,
    Joined,
    Tick,
    WakeAt,
)
from tailcut.forecast import Trend
from tailcut.policy import Policy
from tailcut.round import Rounds
from tailcut.rules import Stopping, WarmUp


def live(machine: Rounds, version: int, now: float, seconds: list[float]) -> tuple[float, list[Command]]:
    """Let one round happen with those run times; the time of its close, and what the machine said."""
    said = play(machine, Applied(now, version))
    wakes = [command.now for command in said if isinstance(command, WakeAt)]
    due = sorted((now + s, worker, s) for worker, s in enumerate(seconds))
    while not any(isinstance(command, CloseRound) for command in said):
        at, worker, run_time = due[0]
        if wakes and wakes[-1] < at:
            event: Event = Tick(wakes.pop())
        else:
            event = Arrived(at, worker, version, run_time)
            due.pop(0)
        more = play(machine, event)
        wakes += [command.now for command in more if isinstance(command, WakeAt)]
        said += more
    return machine.now, said


def decisions(said: list[Command]) -> tuple[list[int], float, list[float]]:
    close = closing(said)
    return who(close), close.record.elapsed, [command.now for command in said if isinstance(command, WakeAt)]


def test_a_fresh_machine_with_the_state_of_another_decides_alike() -> None:
    policy = Policy(Trend(), WarmUp(Stopping()))
    times = np.random.default_rng(5).lognormal(0.0, 0.5, (60, 6)).tolist()
    first = Rounds(policy)
    for worker in range(6):
        first.handle(Joined(0.0, worker))
    now = 0.0
    for version in range(30):
        now, _ = live(first, version, now, times[version])
    snapshot = first.state
    second = Rounds(policy, overhead=first.overhead)
    second.state = snapshot
    for worker in range(6):
        second.handle(Joined(now, worker))
    other = now
    different = 0
    for version in range(30, 60):
        now, said = live(first, version, now, times[version])
        other, said_too = live(second, version, other, times[version])
        assert decisions(said) == decisions(said_too)
        different += len(decisions(said)[0]) < 6
    assert different > 0, "the policy must have something to decide"
    assert first.state is not snapshot


def test_a_snapshot_is_not_changed_by_what_happens_later() -> None:
    policy = Policy(Trend(), WarmUp(Stopping()))
    times = np.random.default_rng(6).lognormal(0.0, 0.5, (12, 4)).tolist()

    def replayed(state: Any) -> list[Any]:
        machine = Rounds(policy)
        if state is not None:
            machine.state = state
        for worker in range(4):
            machine.handle(Joined(0.0, worker))
        now, out = 0.0, []
        for version in range(12):
            now, said = live(machine, version, now, times[version])
            out.append(decisions(said))
        states.append(machine.state)
        return out

    states: list[Any] = []
    replayed(None)
    snapshot = states[0]
    assert replayed(snapshot) == replayed(snapshot)
