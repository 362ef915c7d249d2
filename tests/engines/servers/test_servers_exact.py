"""Servers train as virtual time does: the same rounds, the same updates, the same parameters."""

from __future__ import annotations

import numpy as np
import pytest
from in_process import InProcess, events_of
from tests.engines.live.hub_scripts import exactly
from tests.learning.plain import BATCH, Plain, table_of

from tailcut import names
from tailcut.acceptance import ASYNCHRONOUS, SYNCHRONOUS, bounded_stale
from tailcut.engines.simulated import updates
from tailcut.events import Applied, Arrived
from tailcut.learning.rates import Fixed, Linear, Noisy
from tailcut.learning.recipe import Recipe
from tailcut.learning.trainer import Trainer

ROUNDS = 25
OVERHEAD = 0.03125
RECIPES = [
    Recipe(0.5, Linear()),
    Recipe(0.3, Linear(), "momentum"),
    Recipe(0.01, Fixed(), "adam"),
    Recipe(0.01, Fixed(), "rmsprop"),
    Recipe(0.5, Linear(), clip=0.05),
    Recipe(0.5, Noisy()),
    Recipe(0.5, Linear(), stale="inverse"),
    Recipe(0.5, Linear(), divide_by="world"),
    Recipe(0.5, Linear(), divide_by="workers"),
]
POLICIES = {
    "wait-all": SYNCHRONOUS,
    "backup:b=2": SYNCHRONOUS,
    "bayes": SYNCHRONOUS,
    "backup:c=3": bounded_stale(2),
    "async": ASYNCHRONOUS,
    "softsync": ASYNCHRONOUS,
}


def trained_in_virtual_time(table, name, acceptance, recipe, late_finish, task) -> Trainer:
    trainer = Trainer(task, recipe, table.workers, BATCH, 0, acceptance.keeps_work)
    stream = updates(
        table,
        names.entrant(name).policy,
        acceptance=acceptance,
        late_finish=late_finish,
        overhead=OVERHEAD,
        rounds=ROUNDS,
    )
    update = next(stream)
    try:
        while True:
            update = stream.send(trainer.update(update))
    except StopIteration:
        return trainer


@pytest.mark.parametrize("late_finish", [False, True], ids=["abandon", "finish"])
@pytest.mark.parametrize(("name", "acceptance"), POLICIES.items(), ids=POLICIES)
def test_one_script_of_arrivals_gives_the_records_of_virtual_time(name, acceptance, late_finish) -> None:
    table, policy = table_of("demo8", ROUNDS), names.entrant(name).policy
    seen, made = events_of(table, policy, acceptance, late_finish, overhead=OVERHEAD, rounds=ROUNDS)
    run = InProcess(
        Recipe(0.5), names.entrant(name).policy, table.workers, 1, acceptance, late_finish, OVERHEAD
    )
    run.run([_silent(event) for event in seen])
    assert len(run.records) == ROUNDS
    assert exactly(run.records) == exactly([update.record for update in made])


def _silent(event):
    """Return an event without its measurements: neither engine looks at gradients."""
    return Applied(event.now, event.version) if isinstance(event, Applied) else event


def trained_on_servers(table, name, acceptance, recipe, shards, task) -> InProcess:
    policy = names.entrant(name).policy
    seen, _ = events_of(table, policy, acceptance, overhead=OVERHEAD, rounds=ROUNDS)
    run = InProcess(recipe, policy, table.workers, shards, acceptance, False, OVERHEAD, task)
    run.run(seen)
    return run


def check_parameters(name, acceptance, recipe, shards) -> None:
    table, task = table_of("demo8", ROUNDS), Plain(noise_of="0")
    reference = trained_in_virtual_time(table, name, acceptance, recipe, False, task)
    run = trained_on_servers(table, name, acceptance, recipe, shards, task)
    np.testing.assert_allclose(run.vector, reference.net.vector.numpy(), rtol=1e-9, atol=1e-12)
    assert (run.reckoning.noise.scale is None) == (reference.noise.scale is None)
    if reference.noise.scale is not None:
        assert run.reckoning.noise.scale == pytest.approx(reference.noise.scale, rel=1e-6)


@pytest.mark.parametrize("name", [name for name in POLICIES if name != "bayes"])
def test_under_every_policy_parameters_are_those_of_virtual_time(name) -> None:
    """The set that bayes accepts is in the records; the update made of it is the same for all policies."""
    check_parameters(name, POLICIES[name], RECIPES[0], shards=3)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: f"{recipe.optimiser}-{recipe.divide_by}")
@pytest.mark.parametrize("name", ["backup:b=2", "softsync"])
def test_by_every_recipe_parameters_are_those_of_virtual_time(name, recipe) -> None:
    check_parameters(name, POLICIES[name], recipe, shards=2)


def test_a_gradient_that_is_not_finite_is_rejected_and_the_run_goes_on() -> None:
    table = table_of("demo8", 4)
    seen, _ = events_of(table, names.entrant("wait-all").policy)
    arrivals = [k for k, event in enumerate(seen) if isinstance(event, Arrived)]
    bad = seen[arrivals[2]]
    seen[arrivals[2]] = Arrived(bad.now, bad.worker, bad.version, bad.run_time, finite=False)
    run = InProcess(Recipe(0.5), names.entrant("wait-all").policy, table.workers)
    run.run(seen)
    assert [record.count for record in run.records] == [7, 8, 8, 8]
    assert np.isfinite(run.vector).all()
