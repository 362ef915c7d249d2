"""Training in virtual time against plain torch in one process."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.learning.plain import BATCH, Plain, Reference, closed, table_of, trainer_of

from tailcut.acceptance import ASYNCHRONOUS
from tailcut.errors import InputError, ParameterError
from tailcut.learning.rates import Fixed, Linear, Noisy, SquareRoot
from tailcut.learning.recipe import Recipe, rule_of
from tailcut.learning.saving import arrays_of, restore
from tailcut.learning.trainer import diverged
from tailcut.noise import estimates
from tailcut.policies import asynchronous, backup, drop_compute, softsync, stopping, wait_all
from tailcut.types import Measured

NEAR = {"rtol": 1e-10, "atol": 1e-12}


@pytest.mark.parametrize("optimiser", ["sgd", "momentum", "adam"])
def test_waiting_for_all_is_sgd_with_one_large_batch(optimiser: str) -> None:
    table = table_of("demo8", 12)
    trainer = trainer_of(Recipe(0.1, Fixed(), optimiser), 8)
    reference = Reference(Plain(), optimiser, 0.1)
    for number, update in enumerate(closed(table, wait_all())):
        trainer.update(update)
        reference.step(list(range(8)), [number] * 8)
    torch.testing.assert_close(trainer.net.vector, reference.vector(), **NEAR)


def test_async_with_one_worker_is_plain_sgd() -> None:
    table = table_of("demo8", 10, n=2)
    alone = replace(
        table,
        seconds=table.seconds[:, :1],
        observed=table.observed[:, :1],
        nodes=table.nodes[:1],
        names=table.names[:1],
    )
    trainer = trainer_of(Recipe(0.1, Fixed()), 1, keeps=True)
    reference = Reference(Plain(), "sgd", 0.1)
    made = closed(alone, asynchronous(), ASYNCHRONOUS)
    for number, update in enumerate(made):
        assert update.record.staleness.tolist() == [0]
        trainer.update(update)
        reference.step([0], [number])
    assert len(made) >= 9
    torch.testing.assert_close(trainer.net.vector, reference.vector(), **NEAR)


@pytest.mark.parametrize("n", [4, 16])
def test_staleness_in_async_with_equal_workers_averages_n_minus_1(n: int) -> None:
    made = closed(table_of("iid-lognormal", 60, n=n, sigma=0.1), asynchronous(), ASYNCHRONOUS)
    staleness = np.concatenate([update.record.staleness for update in made])
    assert staleness[5 * n :].mean() == pytest.approx(n - 1, rel=0.02)


def test_an_accepted_set_replayed_in_one_process_gives_the_same_parameters() -> None:
    table = table_of("nodes16", 40)
    trainer = trainer_of(Recipe(0.1, Fixed(), "momentum"), table.workers)
    reference = Reference(Plain(), "momentum", 0.1)
    counts = set()
    for update in closed(table, stopping()):
        trainer.update(update)
        reference.step([w.worker for w in update.accepted], [w.number for w in update.accepted])
        counts.add(len(update.accepted))
    assert len(counts) > 3
    torch.testing.assert_close(trainer.net.vector, reference.vector(), **NEAR)


@pytest.mark.parametrize(("make", "one_pass"), [(asynchronous, True), (softsync, True), (softsync, False)])
def test_stale_gradients_are_those_at_the_parameters_their_workers_had(make, one_pass: bool) -> None:
    table = table_of("demo8", 12)
    rate, task = 0.2, Plain(one_pass=one_pass)
    trainer = trainer_of(Recipe(rate, Fixed(), stale="inverse"), 8, task, keeps=True)
    net = task.net(0)
    past = [torch.cat([p.detach().reshape(-1) for p in net.parameters()])]
    ages = set()
    for update in closed(table, make(), ASYNCHRONOUS):
        trainer.update(update)
        total = torch.zeros_like(past[0])
        for work in update.accepted:
            age = update.record.version - work.version
            ages.add(age)
            torch.nn.utils.vector_to_parameters(past[work.version], net.parameters())
            batch = task.batches(np.array([work.worker]), np.array([work.number]), BATCH, 0)
            parts = torch.autograd.grad(task.losses(net, batch).mean(), list(net.parameters()))
            total += torch.cat([part.reshape(-1) for part in parts]) / max(age, 1)
        past.append(past[-1] - rate * total / len(update.accepted))
        torch.testing.assert_close(trainer.net.vector, past[-1], **NEAR)
    assert max(ages) >= 4


def test_the_noise_can_be_that_of_some_parameters() -> None:
    """The mean gradient and its halves cover those parameters only; the training stays the same."""
    [first, *_] = closed(table_of("demo8", 3), wait_all())
    whole, some = (trainer_of(Recipe(0.1, Fixed()), 8, Plain(noise_of=prefix)) for prefix in ("", "2."))
    before = some.net.vector.clone()
    all_of_it, last = whole.update(first), some.update(first)
    mean = (before - some.net.vector) / 0.1
    assert last.big == pytest.approx(float(mean[24:].square().sum()))
    assert all_of_it.big == pytest.approx(float(mean.square().sum()))
    assert last.big < last.small < all_of_it.small
    torch.testing.assert_close(whole.net.vector, some.net.vector, **NEAR)
    with pytest.raises(ParameterError, match=r"begins with noise_of='policy'; the first is '0.weight'"):
        trainer_of(Recipe(0.1, Fixed()), 8, Plain(noise_of="policy"))


def test_a_net_with_batch_statistics_sees_each_worker_alone() -> None:
    table = table_of("demo8", 3)
    task = Plain(norm=True)
    trainer = trainer_of(Recipe(0.1, Fixed()), 8, task)
    [first, *_] = closed(table, wait_all())
    net = task.net(0)
    total = torch.zeros_like(trainer.net.vector)
    for work in first.accepted:
        batch = task.batches(np.array([work.worker]), np.array([work.number]), BATCH, 0)
        parts = torch.autograd.grad(task.losses(net, batch).mean(), list(net.parameters()))
        total += torch.cat([part.reshape(-1) for part in parts]) / 8
    expected = trainer.net.vector - 0.1 * total
    trainer.update(first)
    torch.testing.assert_close(trainer.net.vector, expected, **NEAR)


def test_workers_that_stop_early_count_for_the_samples_they_got_to() -> None:
    table = table_of("demo8", 80)
    policy = drop_compute(micro=BATCH)
    task = Plain()
    trainer = trainer_of(Recipe(0.1, Fixed()), 8, task)
    net = task.net(0)
    partial = 0
    for update in closed(table, policy):
        rows = []
        for k, share in enumerate(update.shares):
            rows += [k * BATCH + i for i in range(max(1, round(share * BATCH)))]
            partial += share < 1.0
        batch = task.batches(
            np.array([w.worker for w in update.accepted]),
            np.array([w.number for w in update.accepted]),
            BATCH,
            0,
        )
        before = trainer.net.vector.clone()
        torch.nn.utils.vector_to_parameters(before, net.parameters())
        loss = task.losses(net, tuple(each[rows] for each in batch)).mean()
        parts = torch.autograd.grad(loss, list(net.parameters()))
        measured = trainer.update(update)
        assert measured.samples == len(rows)
        step = before - 0.1 * torch.cat([part.reshape(-1) for part in parts])
        torch.testing.assert_close(trainer.net.vector, step, **NEAR)
    assert partial > 0


def test_halves_tell_the_scatter_of_gradients() -> None:
    table = table_of("demo8", 400)
    task = Plain()
    trainer = trainer_of(Recipe(1e-12, Fixed()), 8, task)
    found = []
    for update in closed(table, wait_all()):
        measured = trainer.update(update)
        assert measured.small_samples == pytest.approx(measured.samples / 2)
        found.append(estimates(measured))
    squared, variance = np.mean(found, axis=0)
    # The parameters hardly move: mean and covariance of the gradient over all samples are the truth.
    net = task.net(0)
    rows = []
    for i in range(len(task.inputs)):
        loss = task.losses(net, (task.inputs[i : i + 1], task.labels[i : i + 1])).sum()
        parts = torch.autograd.grad(loss, list(net.parameters()))
        rows.append(torch.cat([part.reshape(-1) for part in parts]))
    each = torch.stack(rows)
    assert variance == pytest.approx(float(each.var(dim=0, unbiased=False).sum()), rel=0.03)
    assert squared == pytest.approx(float(each.mean(dim=0).square().sum()), rel=0.25)


@pytest.mark.parametrize(
    ("recipe", "keeps"),
    [
        (Recipe(0.1, Linear(), "momentum", average=0.9), False),
        (Recipe(0.05, Noisy(), "adam", clip=0.5), False),
        (Recipe(0.1, Linear(), "rmsprop", stale="inverse"), True),
    ],
)
def test_a_saved_trainer_goes_on_bit_for_bit(recipe: Recipe, keeps: bool) -> None:
    table = table_of("demo8", 14)
    policy, acceptance = (asynchronous(), ASYNCHRONOUS) if keeps else (stopping(), None)
    made = closed(table, policy, acceptance) if acceptance else closed(table, policy)
    whole, first, second = (trainer_of(recipe, 8, keeps=keeps) for _ in range(3))
    for update in made:
        whole.update(update)
    half = len(made) // 2
    measured = [first.update(update) for update in made[:half]]
    for update in made[:half]:
        second.follow(update)
    restore(second, arrays_of(first), measured)
    for update in made[half:]:
        second.update(update)
    assert torch.equal(second.net.vector, whole.net.vector)
    assert second.noise.scale == whole.noise.scale
    assert second.figures() == whole.figures()


@pytest.mark.parametrize(
    ("rule", "expected"),
    [("fixed", 0.8), ("linear", 0.8 * 6 / 8), ("sqrt", 0.8 * (6 / 8) ** 0.5)],
)
def test_the_rate_follows_the_accepted_share(rule: str, expected: float) -> None:
    [update, *_] = closed(table_of("demo8", 2), backup(c=6))
    measured = trainer_of(Recipe(0.8, rule_of(rule)), 8).update(update)
    assert measured.rate == pytest.approx(expected)
    warmed = trainer_of(Recipe(0.8, rule_of(rule, warm_up=4)), 8).update(update)
    assert warmed.rate == pytest.approx(expected / 4)


def test_the_gradient_is_clipped_after_the_mean() -> None:
    [update, *_] = closed(table_of("demo8", 2), wait_all())
    free, held = trainer_of(Recipe(1.0, Fixed()), 8), trainer_of(Recipe(1.0, Fixed(), clip=1e-3), 8)
    start = free.net.vector.clone()
    free.update(update)
    held.update(update)
    whole, short = free.net.vector - start, held.net.vector - start
    assert float(whole.norm()) > 1e-3
    assert float(short.norm()) == pytest.approx(1e-3)
    torch.testing.assert_close(short / short.norm(), whole / whole.norm(), **NEAR)


def test_the_mean_may_be_over_workers_or_over_the_world() -> None:
    [update, *_] = closed(table_of("demo8", 2), backup(c=6))
    steps = {}
    for divide_by in ("samples", "workers", "world"):
        trainer = trainer_of(Recipe(1.0, Fixed(), divide_by=divide_by), 8)
        start = trainer.net.vector.clone()
        trainer.update(update)
        steps[divide_by] = trainer.net.vector - start
    torch.testing.assert_close(steps["workers"], steps["samples"], **NEAR)
    torch.testing.assert_close(steps["world"], steps["samples"] * 6 / 8, **NEAR)


def test_averaged_weights_are_evaluated_and_the_others_trained() -> None:
    made = closed(table_of("demo8", 6), wait_all())
    trainer = trainer_of(Recipe(0.5, Fixed(), average=0.5), 8)
    plain = trainer_of(Recipe(0.5, Fixed()), 8)
    average = trainer.net.vector.clone()
    for k, update in enumerate(made, 1):
        trainer.update(update)
        plain.update(update)
        decay = min(0.5, 1 - 1 / (k + 1))
        average = decay * average + (1 - decay) * plain.net.vector
    assert torch.equal(trainer.net.vector, plain.net.vector)
    plain.net.put(average)
    assert trainer.figures()["loss"] == pytest.approx(plain.figures()["loss"], rel=1e-12)


def test_weights_are_averaged_over_as_many_samples_however_small_the_updates() -> None:
    """Two equal halves of an update count together as much as the whole."""
    whole, halves = (trainer_of(Recipe(1e-12, Fixed(), average=0.9), 8) for _ in range(2))
    start = torch.zeros_like(whole.net.vector)
    for trainer, count in ((whole, 8), (halves, 4)):
        trainer.covered = 1e9
        trainer.average = start.clone()
        for update in closed(table_of("demo8", 8 // count * 3), backup(c=count)):
            trainer.update(update)
    assert whole.average is not None
    assert halves.average is not None
    torch.testing.assert_close(whole.average, halves.average, rtol=1e-6, atol=1e-9)
    torch.testing.assert_close(whole.average, (1 - 0.9**3) * whole.net.vector, rtol=1e-6, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.01, 10.0), st.integers(1, 100), st.floats(0.0, 1e6))
def test_more_samples_never_make_a_smaller_step(base: float, samples: int, noise: float) -> None:
    from tailcut.learning.rates import Behind

    for rule in (Fixed(), Linear(), SquareRoot(), Noisy()):
        few, many = (rule.rate(base, Behind(5, k, 100, noise)) for k in (samples, samples + 1))
        assert 0.0 < few <= many <= base * (1 + 1e-12) * max(1.0, (samples + 1) / 100)


@pytest.mark.parametrize(
    "wrong",
    [
        {"rate": 0.0},
        {"rate": float("nan")},
        {"rate": 1.0, "optimiser": "sdg"},
        {"rate": 1.0, "clip": -1.0},
        {"rate": 1.0, "stale": "old"},
        {"rate": 1.0, "divide_by": "gradients"},
        {"rate": 1.0, "average": 1.0},
    ],
)
def test_a_recipe_that_cannot_be_is_refused_in_a_sentence(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"[A-Za-z].*\.$"):
        Recipe(**wrong)  # type: ignore[arg-type]


def test_a_training_that_came_to_nothing_is_noticed() -> None:
    fine = Measured(1.0, 8, 4, 1.0, 1.0, 4.0, 0.1)
    assert not diverged(fine)
    made = closed(table_of("demo8", 30), wait_all())
    trainer = trainer_of(Recipe(1e30, Fixed()), 8, Plain(power=4))
    assert any(diverged(trainer.update(update)) for update in made)
