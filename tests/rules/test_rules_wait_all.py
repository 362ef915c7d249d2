from __future__ import annotations

import numpy as np
import pytest

from tailcut.rules.base import Opening
from tailcut.rules.wait_all import WaitAll
from tailcut.types import Progress, Roster, Wait


@pytest.mark.parametrize("count", [0, 1, 3])
def test_it_waits_whatever_has_come(count: int) -> None:
    rule = WaitAll()
    arrivals = np.where(np.arange(4) < count, 1.0, np.inf)
    rule.plan(None, Opening(Roster.of(4), forecast=None))
    assert rule.decide(None, Progress(5.0, arrivals, np.zeros(4, dtype=np.bool_), count)) == Wait()


def test_its_cutoff_is_everybody() -> None:
    assert [WaitAll().fixed_count(n) for n in (1, 8, 2175)] == [1, 8, 2175]


def test_it_asks_nothing_else_of_the_round() -> None:
    rule = WaitAll()
    assert rule.worker_deadline(None) is None
    assert rule.welcome_stale(None).size == 0
