from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailcut.errors import ParameterError
from tailcut.rules.backup import Backup
from tailcut.rules.base import Opening
from tailcut.rules.explore import Explore
from tailcut.rules.floor import Floor
from tailcut.rules.micro import MicroDeadline
from tailcut.rules.wait_all import WaitAll
from tailcut.types import Close, Decision, Progress, Roster, Wait


def decide(least: int | float, n: int, count: int, gone: int = 0, inner: int = 1) -> Decision:
    """Return the decision of a floor around `backup:c=inner`; the last `gone` workers have left."""
    rule = Floor(Backup(c=inner), least)
    arrivals = np.where(np.arange(n) < count, 1.0, math.inf)
    left = np.arange(n) >= n - gone
    return rule.decide(rule.plan(None, Opening(Roster.of(n), None)), Progress(1.0, arrivals, left, count))


def test_a_close_before_the_floor_becomes_a_wait_for_it() -> None:
    assert decide(4, n=8, count=1) == Wait(count=4)
    assert decide(4, n=8, count=3) == Wait(count=4)
    assert decide(4, n=8, count=4) == Close()
    assert decide(4, n=8, count=6) == Close()


def test_a_share_is_of_the_workers_of_the_round() -> None:
    assert decide(0.5, n=7, count=2) == Wait(count=4)
    assert decide(1.0, n=7, count=2) == Wait(count=7)
    assert decide(1, n=7, count=2) == Close()


def test_the_inner_rules_wait_passes() -> None:
    assert decide(2, n=8, count=1, inner=6) == Wait(count=6)
    assert decide(2, n=8, count=3, inner=6) == Wait(count=6)


def test_no_more_than_are_there_is_asked_for() -> None:
    assert decide(6, n=8, count=1, gone=4) == Wait(count=4)
    assert decide(6, n=8, count=4, gone=4) == Close()
    assert decide(20, n=8, count=1) == Wait(count=8)


@given(n=st.integers(1, 40), c=st.integers(1, 40), least=st.integers(1, 60) | st.floats(0.01, 1.0))
def test_the_fixed_count_is_where_the_round_closes(n: int, c: int, least: int | float) -> None:
    closing = next(count for count in range(1, n + 1) if decide(least, n, count, inner=c) == Close())
    assert Floor(Backup(c=c), least).fixed_count(n) == closing


def test_everything_else_is_the_inner_rules() -> None:
    deadline = Floor(MicroDeadline(threshold=1.5), 2)
    plan = deadline.plan(deadline.start(), Opening(Roster.of(4), None))
    assert deadline.worker_deadline(plan) == 1.5
    assert deadline.welcome_stale(plan).size == 0
    assert deadline.fixed_count(4) is None
    assert Floor(Explore(Backup(b=1)), 2).fixed_count(4) is None


@pytest.mark.parametrize(
    ("least", "words"),
    [
        (0, "least must be at least 1 worker, but got 0"),
        (-2, "but got -2"),
        (0.0, "as a share, but got 0.0"),
        (2.0, "least must be over 0 and at most 1 as a share, but got 2.0; give 0.5"),
    ],
)
def test_an_impossible_floor_is_refused(least: int | float, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Floor(WaitAll(), least)
