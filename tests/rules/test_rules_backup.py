from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailcut.errors import ParameterError
from tailcut.rules.backup import Backup, still_possible, wait_for
from tailcut.rules.base import Opening
from tailcut.types import Close, Decision, Progress, Roster, Wait

INF = math.inf


def progress(*arrivals: float, gone: tuple[int, ...] = (), elapsed: float = 5.0) -> Progress:
    """A round in which the workers in `gone` have left."""
    times = np.array(arrivals)
    left = np.isin(np.arange(len(times)), gone)
    return Progress(elapsed, times, left, int(np.isfinite(times).sum()))


def decide(rule: Backup, seen: Progress) -> Decision:
    return rule.decide(rule.plan(None, Opening(Roster.of(len(seen.arrivals)), None)), seen)


@pytest.mark.parametrize(
    ("rule", "n", "cutoff"),
    [
        (Backup(b=0), 8, 8),
        (Backup(b=3), 8, 5),
        (Backup(b=8), 8, 1),
        (Backup(b=99), 8, 1),
        (Backup(c=5), 8, 5),
        (Backup(c=9), 8, 8),
        (Backup(share=0.9), 8, 7),
        (Backup(share=0.5), 8, 4),
        (Backup(share=0.01), 8, 1),
        (Backup(share=1.0), 8, 8),
        (Backup(share=0.07), 100, 7),
    ],
)
def test_the_cutoff_follows_the_parameter(rule: Backup, n: int, cutoff: int) -> None:
    assert rule.fixed_count(n) == cutoff
    assert rule.plan(None, Opening(Roster.of(n), None)) == cutoff


def test_it_waits_for_the_cutoff_and_closes_there() -> None:
    rule = Backup(b=1)
    assert decide(rule, progress(INF, INF, INF, elapsed=0.0)) == Wait(count=2)
    assert decide(rule, progress(INF, 1.0, INF)) == Wait(count=2)
    assert decide(rule, progress(2.0, 1.0, INF)) == Close()


def test_workers_that_left_lower_what_is_waited_for() -> None:
    rule = Backup(c=3)
    assert decide(rule, progress(1.0, INF, INF, INF, gone=(3,))) == Wait(count=3)
    assert decide(rule, progress(1.0, INF, INF, INF, gone=(2, 3))) == Wait(count=2)
    assert decide(rule, progress(1.0, 2.0, INF, INF, gone=(2, 3))) == Close()


def test_a_worker_that_left_after_its_arrival_still_counts() -> None:
    assert still_possible(progress(1.0, INF, INF, gone=(0, 1))) == 2


def test_it_never_closes_with_nobody_in() -> None:
    assert wait_for(2, progress(INF, INF, gone=(0, 1))) == Wait(count=1)


@given(share=st.floats(0.001, 1.0), n=st.integers(1, 3000))
def test_a_share_is_rounded_down_but_never_to_none(share: float, n: int) -> None:
    count = Backup(share=share).fixed_count(n)
    assert count is not None
    assert 1 <= count <= n
    assert count == 1 or count <= share * n + 1e-9
    assert count + 1 > share * n


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({}, "Exactly one of b, c and share must be given, but got none"),
        ({"b": 1, "c": 2}, "but got b and c"),
        ({"b": -1}, "b must be at least 0, but got -1"),
        ({"c": 0}, "c must be at least 1, but got 0"),
        ({"share": 0.0}, "share must be over 0 and at most 1, but got 0.0"),
        ({"share": 1.5}, "but got 1.5"),
        ({"share": math.nan}, "but got nan"),
    ],
)
def test_impossible_parameters_are_refused(parameters: dict[str, float], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Backup(**parameters)  # type: ignore[arg-type]
