"""The same virtual time for every arm, and the published rule for stale gradients."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tailcut import names
from tailcut.errors import ParameterError
from tailcut.learning.rates import Behind, Fixed, Linear
from tailcut.study.grid.budget import FIRST_FACTOR, timed
from tailcut.study.grid.config import Arm, Study
from tailcut.study.grid.folder import Folder
from tailcut.study.grid.grid import Grid
from tailcut.study.grid.journal import read_journal
from tailcut.study.grid.makers import Makers
from tailcut.study.grid.setup import Place, Setup
from tailcut.study.source import Recorded
from tailcut.table import Table

MAKERS = Makers(names.task, names.source, names.entrant)
STUDY = Study(
    name="small",
    tasks=("logistic",),
    clusters=("demo8",),
    arms=(Arm("wait-all", ("wait-all",)), Arm("first", ("backup:c=1",)), Arm("async", ("async",))),
    seeds=1,
    rounds=12,
    rates=(0.05,),
    target=-1.0,
    figure="loss",
)


def setup(policy: str, study: Study = STUDY, **arm: object) -> Setup:
    return Setup.of(study, MAKERS, Place("logistic", "demo8", Arm("x", (policy,), **arm), policy, 0))  # type: ignore[arg-type]


def test_all_arms_train_for_as_long_as_waiting_for_all_needs(tmp_path: Path) -> None:
    Grid(STUDY, MAKERS, Folder(tmp_path), 1).carry_out(lambda *_: None)
    ends = {path.parent.name: read_journal(path).end for path in tmp_path.glob("runs/**/*.jsonl")}
    budget = timed(names.source("demo8"), 0, 12)
    slowest = budget.draw.table.seconds.max(axis=1)
    assert budget.seconds == pytest.approx(slowest[:12].sum())
    for end in ends.values():
        assert end is not None
        assert end.ending == "not reached"
        # A run ends with the first update after its time.
        assert budget.seconds * (1 - 1e-9) <= end.totals.seconds <= budget.seconds + slowest.max()
    updates = {name: end.totals.updates for name, end in ends.items() if end is not None}
    assert updates["wait-all"] in (12, 13)
    # A policy that closes earlier needs more rows of run times than wait-all has rounds.
    assert updates["first"] > 24
    assert updates["async"] > 8 * 24


def test_every_arm_has_the_same_run_times() -> None:
    one, other = (setup(policy).draw.table for policy in ("wait-all", "async"))
    assert np.array_equal(one.seconds, other.seconds)


def test_rows_suffice_for_an_arm_that_takes_the_first_gradient_of_each_round() -> None:
    for name in ("demo8", "nodes16", "iid-exponential:n=8"):
        budget = timed(names.source(name), 3, 20)
        assert budget.draw.table.seconds.min(axis=1).sum() >= budget.seconds
        assert budget.draw.table.rounds % (FIRST_FACTOR * 20) == 0


def test_overhead_counts_for_waiting_for_all() -> None:
    plain, dear = (timed(names.source(name), 0, 10).seconds for name in ("demo8", "demo8:overhead=0.5"))
    assert dear == pytest.approx(plain + 5.0)


def test_a_recorded_table_begins_anew_after_its_last_row() -> None:
    rows = np.array([[1.0, 2.0], [1.0, 4.0], [1.0, 3.0]])
    budget = timed(Recorded("t", "", Table.dense(rows)), 0, 5)
    # It has three rounds of waiting for all, and is waited through once.
    assert budget.seconds == pytest.approx(9.0)
    assert np.array_equal(budget.draw.table.seconds[:6], np.concatenate([rows, rows]))
    assert budget.draw.table.seconds.min(axis=1).sum() >= 9.0


def test_a_budget_of_rounds_ends_with_the_rows() -> None:
    found = setup("async", replace(STUDY, budget="rounds"))
    assert found.draw.table.rounds == 12
    assert found.look.seconds == math.inf
    with pytest.raises(ParameterError, match="budget must be 'time' or 'rounds'"):
        replace(STUDY, budget="updates")


def test_tuning_has_no_more_time_than_the_runs() -> None:
    found = setup("async")
    assert found.quick_look(math.inf).seconds == found.look.seconds == found.budget.seconds
    assert found.quick_look(1.0).seconds == 1.0


@pytest.mark.parametrize(
    ("policy", "arm", "stale", "rule"),
    [
        ("softsync", {}, "inverse", Fixed()),
        ("softsync:k=8", {}, "inverse", Fixed()),
        ("softsync", {"stale": "plain"}, "plain", Linear()),
        ("softsync", {"rate_rule": "linear"}, "inverse", Linear()),
        ("async", {}, "plain", Linear()),
        ("async", {"stale": "inverse"}, "inverse", Fixed()),
        ("wait-all", {}, "plain", Linear()),
    ],
)
def test_the_rule_for_stale_gradients_is_not_stacked_on_the_linear_one(
    policy: str, arm: dict[str, str], stale: str, rule: Fixed | Linear
) -> None:
    recipe = setup(policy, **arm).recipe(0.4)
    assert (recipe.stale, recipe.rule) == (stale, rule)


def test_softsync_takes_steps_of_the_base_rate_over_the_staleness() -> None:
    """Zhang et al. (2016): θ ← θ − (1/c) Σ (α₀/τ_i) g_i, a gradient that is not stale counts whole."""
    recipe = setup("softsync").recipe(0.4)
    few = Behind(number=3, samples=16, full=64, noise=None)
    assert recipe.rule.rate(recipe.rate, few) == 0.4
    assert [recipe.weight(age) for age in (0, 1, 2, 5)] == [1.0, 1.0, 0.5, 0.2]
