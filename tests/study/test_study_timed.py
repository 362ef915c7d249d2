"""The time that decisions cost, and the part of it that no worker waits for."""

from __future__ import annotations

import numpy as np
import pytest

from tailcut.engines.simulated import replay
from tailcut.policies import drop_compute, empirical
from tailcut.policy import Policy
from tailcut.study.timed import Timed
from tailcut.table import Table


def timed(policy: Policy) -> Timed:
    watch = Timed(policy)
    replay(Table.dense(np.random.default_rng(0).lognormal(0.0, 0.3, (30, 5))), watch)
    return watch


def test_learning_and_planning_happen_in_the_background_and_deciding_does_not() -> None:
    watch = timed(empirical())
    assert len(watch.decisions) >= 30
    assert watch.background > 0.0
    assert watch.background + sum(watch.decisions) == pytest.approx(watch.total)


def test_where_workers_start_with_a_plan_everybody_waits_for_it() -> None:
    watch = timed(drop_compute(follow=True))
    assert watch.background == 0.0
    assert watch.total > sum(watch.decisions)
