"""Training in virtual time from the first update to the target, broken off and taken up again."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from tests.learning.plain import Plain, closed, table_of, trainer_of

from tailcut.acceptance import ASYNCHRONOUS
from tailcut.engines.simulated import updates
from tailcut.engines.simulated.meter import Meter
from tailcut.engines.simulated.requeue import TaskJobs
from tailcut.engines.simulated.training import Look, Saved, Trained, recorded, train
from tailcut.learning.rates import Fixed, Linear
from tailcut.learning.recipe import Recipe
from tailcut.learning.tasks.base import Target
from tailcut.policies import asynchronous, backup, stopping, wait_all

RECIPE = Recipe(0.5, Linear(), "momentum")
EASY, NEVER = Target("accuracy", 0.8, "least"), Target("loss", -1.0, "most")


def trained(
    look: Look, rounds: int = 60, recipe: Recipe = RECIPE, task: Plain | None = None, **more: object
) -> Trained:
    table = table_of("demo8", rounds)
    return train(updates(table, stopping()), trainer_of(recipe, 8, task), Meter(8, 0.0, False), look, **more)  # type: ignore[arg-type]


def test_a_run_stops_at_its_target_and_says_when_that_was() -> None:
    run = trained(Look(EASY, every=4.0))
    assert run.ending == "reached"
    last = run.points[-1]
    assert last.figures["accuracy"] >= 0.8
    assert all(point.figures["accuracy"] < 0.8 for point in run.points[:-1])
    assert run.seconds_to_target == last.seconds == run.totals.seconds
    assert run.updates_to_target == last.updates == run.totals.updates


def test_a_run_may_go_on_beyond_its_target() -> None:
    run = trained(Look(EASY, every=4.0, beyond=True))
    assert run.ending == "reached"
    assert run.totals.updates == 60
    assert run.seconds_to_target < run.totals.seconds


@pytest.mark.parametrize(("look", "updates_made"), [(Look(NEVER, 8.0), 60), (Look(NEVER, 8.0, updates=7), 7)])
def test_a_target_that_is_not_reached_takes_for_ever(look: Look, updates_made: int) -> None:
    run = trained(look)
    assert run.ending == "not reached"
    assert math.isinf(run.seconds_to_target)
    assert run.updates_to_target is None
    assert run.totals.updates == updates_made


def test_a_run_stops_when_its_time_is_up() -> None:
    run = trained(Look(NEVER, 8.0, seconds=20.0))
    assert 20.0 <= run.totals.seconds < 25.0


def test_a_run_that_diverges_ends_there() -> None:
    run = trained(Look(NEVER, 1.0), recipe=Recipe(1e30, Fixed()), task=Plain(power=4))
    assert run.ending == "diverged"
    assert run.totals.updates < 60
    assert all(math.isfinite(point.figures["loss"]) for point in run.points)


@pytest.mark.parametrize("acceptance", [None, ASYNCHRONOUS])
@pytest.mark.parametrize("broken_off", [1, 13, 30])
def test_a_run_that_was_broken_off_goes_on_bit_for_bit(acceptance, broken_off: int) -> None:
    table = table_of("demo8", 30)
    keeps = acceptance is not None
    policy, recipe = (
        (asynchronous(), Recipe(0.5, Linear())) if keeps else (stopping(objective="gain"), RECIPE)
    )
    look = Look(NEVER, 6.0, beyond=True)

    def go(**more: object) -> tuple[Trained, torch.Tensor]:
        trainer = trainer_of(recipe, 8, keeps=keeps)
        kind = {"acceptance": acceptance} if keeps else {}
        stream = updates(table, policy, **kind)  # type: ignore[arg-type]
        run = train(stream, trainer, Meter(8, 0.0, keeps), look, **more)  # type: ignore[arg-type]
        return run, trainer.net.vector.clone()

    kept: list[Saved] = []
    whole, end = go(save=kept.append, save_every=1)
    again, second_end = go(saved=kept[broken_off - 1])
    assert torch.equal(end, second_end)
    assert again.points == whole.points
    assert (again.totals.accepted == whole.totals.accepted).all()
    assert again.totals.idle == whole.totals.idle


def test_the_meter_adds_up() -> None:
    table = table_of("demo8", 20)
    made = closed(table, backup(c=6))
    run = train(recorded(made), trainer_of(RECIPE, 8), Meter(8, 0.5, False), Look(NEVER, 12.0))
    assert [point.gradients for point in run.points] == [12.0 * k for k in range(1, 11)]
    assert all(point.cutoff == 6.0 for point in run.points)
    assert run.totals.gradients == 120.0
    assert run.totals.dropped == 20 * 2
    assert run.totals.late == 0
    assert run.totals.accepted.sum() == 120
    waited = sum((np.sort(row)[5] - np.sort(row)[:6]).sum() for row in table.seconds)
    paid = sum(8 * (np.sort(row)[5] + 0.5) for row in table.seconds)
    assert run.totals.idle == pytest.approx(waited / paid)
    # The last update is out one overhead after its close; openings follow closes in this engine at once.
    assert run.totals.seconds == pytest.approx(made[-1].closed + 0.5)


def test_async_keeps_nobody_waiting_and_is_stale() -> None:
    table = table_of("demo8", 20)
    stream = updates(table, asynchronous(), acceptance=ASYNCHRONOUS)
    run = train(stream, trainer_of(RECIPE, 8, keeps=True), Meter(8, 0.0, True), Look(NEVER, 8.0))
    assert run.totals.idle == 0.0
    assert run.totals.staleness > 3.0
    assert run.points[-1].noise is None


def test_dropped_mini_batches_come_again_where_they_are_requeued() -> None:
    table = table_of("demo8", 40)
    task = Plain()
    gone, again = (
        list(updates(table, backup(c=5), jobs=TaskJobs(task, 0, requeue))) for requeue in (False, True)
    )

    def skipped(seen: list) -> int:
        used = {(work.worker, work.number) for update in seen for work in update.accepted}
        begun = {(work.worker, work.number) for update in seen[:-4] for work in update.started}
        return len(begun - used)

    assert skipped(gone) > 60
    assert skipped(again) <= 8


def test_waiting_for_all_needs_no_requeueing() -> None:
    table = table_of("demo8", 5)
    seen = list(updates(table, wait_all(), jobs=TaskJobs(Plain(), 0, True)))
    assert [{work.number for work in update.accepted} for update in seen] == [{k} for k in range(5)]
