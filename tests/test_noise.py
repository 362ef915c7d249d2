"""The gradient noise scale where it is known: gaussian gradients with a given mean and covariance."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from tailcut.noise import DRIFTS, MEMORIES, Average, Noise, after, estimates
from tailcut.types import FloatArray, Measured

UPDATE = Measured(loss=1.0, samples=64, batch=16, big=1.5, small=3.0, small_samples=16, rate=0.1)


def updates(
    rounds: int, true: FloatArray, spread: float, gradients: int, batch: int, parts: int, seed: int = 0
) -> Iterator[Measured]:
    """Updates of c gradients over m samples each, looked at as the mean of so many equal parts."""
    rng, samples = np.random.default_rng(seed), gradients * batch
    for _ in range(rounds):
        means = true + spread / math.sqrt(samples / parts) * rng.standard_normal((parts, len(true)))
        big, small = float((means.mean(axis=0) ** 2).sum()), float((means**2).sum(axis=1).mean())
        yield Measured(1.0, samples, batch, big, small, samples / parts, 0.1)


@pytest.mark.parametrize(
    ("gradients", "batch", "parts"), [(2, 8, 2), (16, 8, 2), (16, 8, 16), (158, 4, 2), (9, 32, 3), (7, 1, 7)]
)
@pytest.mark.parametrize("size", [0.1, 2.0])
def test_both_estimates_are_unbiased(gradients: int, batch: int, parts: int, size: float) -> None:
    true = np.full(40, size)
    seen = [estimates(each) for each in updates(4000, true, 3.0, gradients, batch, parts)]
    pairs = np.array([pair for pair in seen if pair is not None])
    assert len(pairs) == 4000
    # Four standard errors of the mean: one such test in ten thousand fails by chance.
    error = 4.0 * pairs.std(axis=0) / math.sqrt(len(pairs))
    expected = np.array([40 * size**2, 40 * 3.0**2])
    assert (np.abs(pairs.mean(axis=0) - expected) < error).all()
    assert (error < 0.2 * expected).all() or size < 1.0, "the test can tell"


@pytest.mark.parametrize("ratio", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("parts", [2, 16])
def test_the_noise_scale_is_within_a_fifth(ratio: float, parts: int) -> None:
    """B from far below the samples of an update to twice as many, a thousand parameters."""
    samples, spread = 16 * 8, 1.0
    true = np.full(1000, spread / math.sqrt(ratio * samples))
    noise, off = Noise(), []
    for number, each in enumerate(updates(300, true, spread, 16, 8, parts)):
        noise = after(noise, each)
        assert noise.scale is not None
        if number >= 50:
            off.append(noise.scale / (ratio * samples) - 1.0)
    assert np.quantile(np.abs(off), 0.9) < 0.2
    assert abs(np.mean(off)) < 0.05


def test_a_gradient_that_falls_is_followed() -> None:
    """|G|² loses a tenth in every round: an average over ten rounds would be a half too large."""
    off = []
    noise = Noise()
    for number in range(80):
        true = np.full(1000, 3.0 * 0.9 ** (number / 2))
        scale = 1000.0 / float(true @ true)
        if number > 10:
            assert noise.scale is not None
            off.append(noise.scale / scale)
        noise = after(noise, next(updates(1, true, 1.0, 16, 8, 2, seed=number)))
    assert 0.9 < np.median(off) < 1.15
    assert np.quantile(np.abs(np.subtract(off, 1.0)), 0.9) < 0.25


def test_a_gradient_hidden_in_noise_needs_a_long_memory() -> None:
    """Single rounds contradict each other with B sixteen times an update's samples; many together do not."""
    true, scale = np.full(1000, 1.0 / math.sqrt(16 * 128)), 16 * 128
    single = [estimates(each) for each in updates(400, true, 1.0, 16, 8, 2)]
    assert np.mean([pair is not None and pair[0] < 0 for pair in single]) > 0.1
    noise, known = Noise(), []
    for each in updates(400, true, 1.0, 16, 8, 2):
        noise = after(noise, each)
        known.append(noise.scale or math.nan)
    assert 0.8 < np.median(known[100:]) / scale < 1.2
    assert np.mean(np.abs(np.array(known[100:]) / scale - 1.0) < 0.5) > 0.8


def test_an_average_foretells_values_that_stay_and_values_that_fall() -> None:
    assert Average().next is None
    steady = falling = Average()
    for number in range(40):
        steady, falling = steady.after(2.0), falling.after(3.0 * 0.85**number)
        assert steady.next == pytest.approx(2.0), "it lacks nothing in its first rounds"
    assert falling.next == pytest.approx(3.0 * 0.85**40)
    assert len(steady.sums) == len(MEMORIES) * len(DRIFTS)


def test_a_step_is_followed_within_rounds() -> None:
    rng, average = np.random.default_rng(0), Average()
    for value in 1.0 + 0.1 * rng.standard_normal(200):
        average = average.after(float(value))
    assert average.next == pytest.approx(1.0, abs=0.05)
    for value in 5.0 + 0.1 * rng.standard_normal(8):
        average = average.after(float(value))
    assert average.next == pytest.approx(5.0, abs=0.5)


def test_the_formulas() -> None:
    assert estimates(UPDATE) == (1.0, 32.0)
    assert after(Noise(), UPDATE).scale == 32.0


def test_before_the_first_round_nothing_is_known() -> None:
    assert Noise().scale is None


@pytest.mark.parametrize(
    "nothing",
    [
        None,
        replace(UPDATE, small_samples=64, small=1.5),
        replace(UPDATE, samples=16, small=1.5),
        replace(UPDATE, small_samples=0),
        replace(UPDATE, samples=0),
        replace(UPDATE, big=math.nan),
        replace(UPDATE, small=math.inf),
        replace(UPDATE, big=math.inf, small=math.inf),
        replace(UPDATE, big=0.0, small=0.0),
        replace(UPDATE, big=1e308, small=1.7e308),
    ],
)
def test_an_update_that_tells_nothing_changes_nothing(nothing: Measured | None) -> None:
    before = after(Noise(), UPDATE)
    assert after(before, nothing) is before


def test_without_noise_the_scale_is_zero_and_without_gradient_infinite() -> None:
    assert after(Noise(), replace(UPDATE, small=1.5)).scale == 0.0
    assert after(Noise(), replace(UPDATE, small=1.0)).scale == 0.0
    assert after(Noise(), replace(UPDATE, small=6.0)).scale == math.inf
    assert after(Noise(), replace(UPDATE, small=9.0)).scale == math.inf


def test_sizes_that_change_between_rounds_tell_the_same() -> None:
    true, noise = np.full(1000, 0.1), Noise()
    for number in range(200):
        gradients = 2 + number % 15
        noise = after(noise, next(updates(1, true, 1.0, gradients, 8, 2, seed=number)))
    assert noise.scale == pytest.approx(100.0, rel=0.2)


@pytest.mark.parametrize("factor", [2.0**-400, 2.0**300])
def test_the_unit_of_the_loss_means_nothing(factor: float) -> None:
    plain, scaled = Noise(), Noise()
    for each in updates(60, np.full(50, 0.3), 1.0, 4, 8, 2):
        plain = after(plain, each)
        scaled = after(scaled, replace(each, big=each.big * factor, small=each.small * factor))
        assert scaled.scale == plain.scale


def test_numbers_at_the_edge_neither_warn_nor_break() -> None:
    noise = Noise()
    for size in (1e290, 1e-300, 1e290, *[1e-300] * 60, 5e-324):
        noise = after(noise, replace(UPDATE, big=size, small=2 * size))
        assert noise.scale is not None
        assert noise.scale >= 0.0
