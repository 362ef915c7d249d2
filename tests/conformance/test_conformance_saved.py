"""Every policy's state can be saved and taken up again in mid-run, and nothing changes, to the last bit."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, final

import numpy as np
import pytest

from tailcut import names
from tailcut.clusters.presets import PRESETS
from tailcut.engines.simulated import Run, replay
from tailcut.events import CloseRound, Command, Event
from tailcut.policy import Policy, PolicyState, PolicyWrapper
from tailcut.policy_names import POLICIES
from tailcut.saved import load_state, save_state
from tailcut.table import Table
from tailcut.testing.histories import shown
from tailcut.types import RoundRecord, RunTimes

ROUNDS, AFTER = 30, 20
LONGER, LATER = 52, 36
"""The same for policies that wait for all, or learn nothing, until they have seen dozens of rounds."""
PATIENT = ("drop-compute", "bdsgd")
USUAL = [name for name, named in POLICIES.items() if named.usual]
OTHERS = [
    "drop-compute:follow=true",
    "stopping:fair=4",
    "stopping:fair=3:how=stale:floor=2",
    "bayes:deep=false:scenarios=false",
    "bdsgd:train=30:see=closed",
    "async",
    "dbw",
    "adasync",
    "bounded-stale:most=2",
    "trend:objective=gain",
    "bayes:objective=gain:fair=4",
]
WHERE = [("nodes16", False), ("fail-and-return", True)]


@cache
def sampled(source: str, rounds: int) -> Table:
    return PRESETS[source].factory().sample(rounds, np.random.default_rng(3)).table


def rounds_of(spec: str) -> tuple[int, int]:
    """Return the number of rounds that are played, and the round after which the state is saved to a file."""
    return (LONGER, LATER) if spec.startswith(PATIENT) else (ROUNDS, AFTER)


@final
class Interrupted(PolicyWrapper):
    """Puts its state into a file after a round and goes on, as another object, with what the file holds."""

    def __init__(self, policy: Policy, spec: str, path: Path | None) -> None:
        super().__init__(policy)
        self._spec, self._path, self._after = spec, path, rounds_of(spec)[1]
        self.states: list[PolicyState] = []

    def learn(
        self, state: PolicyState, plan: Any, record: RoundRecord, reports: tuple[RunTimes, ...]
    ) -> PolicyState:
        record = replace(record, measured=shown(record))
        state = self.inner.learn(state, plan, record, reports)
        if record.version == self._after - 1 and self._path is not None:
            save_state(self._path, state)
            self.inner = names.entrant(self._spec).policy
            state = load_state(self._path, self.inner)
        self.states.append(state)
        return state


def exactly(value: Any) -> Any:
    """The same thing as numbers and bytes, so that equal means equal to the last bit."""
    if is_dataclass(value):
        return type(value), tuple(exactly(getattr(value, each.name)) for each in fields(value))
    if isinstance(value, list | tuple):
        return tuple(exactly(each) for each in value)
    return (value.dtype.str, value.shape, value.tobytes()) if isinstance(value, np.ndarray) else repr(value)


def played(
    spec: str, source: str, late_finish: bool, path: Path | None
) -> tuple[Run, Interrupted, list[Command]]:
    entrant = names.entrant(spec)
    policy = Interrupted(entrant.policy, spec, path)
    said: list[Command] = []

    def watch(event: Event, commands: list[Command]) -> None:
        del event
        said.extend(commands)

    run = replay(
        sampled(source, rounds_of(spec)[0]),
        policy,
        late_finish=late_finish,
        overhead=0.05,
        acceptance=entrant.acceptance,
        micro=entrant.policy.micro,
        sees_all=entrant.policy.sees_all,
        watch=watch,
    )
    return run, policy, said


@pytest.mark.parametrize(
    ("spec", "source", "late_finish"),
    [*((spec, *where) for spec in USUAL for where in WHERE), *((spec, *WHERE[-1]) for spec in OTHERS)],
)
def test_a_run_taken_up_from_a_file_goes_on_as_if_nothing_had_happened(
    spec: str, source: str, late_finish: bool, tmp_path: Path
) -> None:
    _, whole, said = played(spec, source, late_finish, None)
    _, parted, said_too = played(spec, source, late_finish, tmp_path / "state.safetensors")
    assert (tmp_path / "state.safetensors").exists()
    assert sum(isinstance(command, CloseRound) for command in said) >= rounds_of(spec)[0] - 1
    assert exactly(said_too) == exactly(said)
    assert exactly(parted.states) == exactly(whole.states)


@pytest.mark.parametrize("spec", [*USUAL, *OTHERS])
def test_a_state_in_which_nothing_was_seen_can_be_saved(spec: str, tmp_path: Path) -> None:
    policy = names.entrant(spec).policy
    save_state(tmp_path / "start", policy.start())
    assert exactly(load_state(tmp_path / "start", policy)) == exactly(policy.start())
