"""Workers that die at any moment, between the first and the last completion of a reduction too: never a fork."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from epoch_world import World
from hypothesis import given, settings
from hypothesis import strategies as st

from tailcut import names
from tailcut.engines.live.controller.change import NO_STATE
from tailcut.engines.live.controller.hub import Hub
from tailcut.round import Rounds

POLICIES = ("wait-all", "backup:b=1", "backup:c=1")
LIKELY_DEATHS = (0.0, 0.02, 0.1)


def world(policy: str, workers: int) -> World:
    return World(Hub(Rounds(names.entrant(policy).policy, late_finish=True), workers), workers)


def check(it: World) -> None:
    """Check that the members' logs are prefixes of one another, and have each version once."""
    logs = sorted((one.log for one in it.members), key=len)
    for shorter, longer in pairwise(logs):
        assert longer[: len(shorter)] == shorter, (shorter, longer)
    for log in logs:
        assert [version for _, version, _ in log] == list(range(len(log)))
    assert it.hub.why in (None, NO_STATE)


def wander(it: World, draw: random.Random, steps: int, deaths: float) -> None:
    for _ in range(steps):
        possible = list(it.possible(deaths=draw.random() < deaths))
        if it.hub.over:
            return
        killing = [one for one in possible if one[0] == "kill"]
        it.do(*draw.choice(killing or possible))
        check(it)


def settle(it: World, draw: random.Random) -> None:
    """Continue without deaths until the run is over; time passes only when no other event is possible."""
    for _ in range(400):
        possible = list(it.possible(deaths=False))
        if it.hub.over:
            return
        patient = [one for one in possible if one[0] != "tick"]
        it.do(*draw.choice(patient or possible))
        check(it)


@settings(max_examples=150, deadline=None)
@given(
    policy=st.sampled_from(POLICIES),
    workers=st.integers(2, 4),
    deaths=st.sampled_from(LIKELY_DEATHS),
    seed=st.integers(0, 2**32),
)
def test_no_fork_and_no_standstill(policy: str, workers: int, deaths: float, seed: int) -> None:
    it, draw = world(policy, workers), random.Random(seed)
    wander(it, draw, 120, deaths)
    before = it.hub.version
    settle(it, draw)
    assert it.hub.version > before or it.hub.over, "whoever is left goes on"


@pytest.mark.parametrize("seed", range(3))
def test_a_version_that_a_survivor_has_is_never_made_again(seed: int) -> None:
    it, draw = world("wait-all", 4), random.Random(seed)
    made: dict[tuple[int, int], set[tuple[int, ...]]] = {}
    for _ in range(600):
        deaths = draw.random() < 0.01
        possible = list(it.possible(deaths))
        if it.hub.over:
            break
        it.do(*draw.choice([one for one in possible if one[0] == "kill"] or possible))
        for one in it.members:
            for epoch, version, accepted in one.log:
                made.setdefault((epoch, version), set()).add(accepted)
    assert all(len(ways) == 1 for ways in made.values())
