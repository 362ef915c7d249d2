"""The simulated engine against the closed forms of Dutta et al. (arXiv 1803.01113) and of asynchronous SGD."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tailcut.acceptance import ASYNCHRONOUS, BATCH_SYNCHRONOUS, STALE_SYNCHRONOUS, SYNCHRONOUS, Acceptance
from tailcut.engines.simulated import Run, first_arrivals, replay
from tailcut.forecast import NoForecast
from tailcut.policy import Policy
from tailcut.policy_names import POLICIES
from tailcut.rules import Backup
from tailcut.table import Table
from tailcut.types import FloatArray

Law = Callable[[np.random.Generator, tuple[int, int]], FloatArray]

ROWS, P, K = 2500, 16, 8
SETTLED = 50
"""Rounds after which the start, where all workers begin at once, no longer matters."""
RATE = 2.0


def exponential(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    return rng.exponential(1 / RATE, shape)


def shifted(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    return 0.5 + 0.5 * rng.exponential(1.0, shape)


def harmonic(n: int) -> float:
    return sum(1 / i for i in range(1, n + 1))


def run(law: Law, acceptance: Acceptance, p: int = P, k: int = K, rows: int = ROWS, seed: int = 7) -> Run:
    table = Table.dense(law(np.random.default_rng(seed), (rows, p)))
    return replay(table, Policy(NoForecast(), Backup(c=k)), acceptance=acceptance)


def mean_seconds(simulated: Run) -> float:
    return float(simulated.elapsed[SETTLED:].mean())


@pytest.mark.parametrize(
    ("acceptance", "seconds"),
    [
        (SYNCHRONOUS, (harmonic(P) - harmonic(P - K)) / RATE),
        (STALE_SYNCHRONOUS, (harmonic(P) - harmonic(P - K)) / RATE),
        (BATCH_SYNCHRONOUS, K / (P * RATE)),
        (ASYNCHRONOUS, K / (P * RATE)),
    ],
    ids=["K-sync", "K-async", "K-batch-sync", "K-batch-async"],
)
def test_exponential_run_times_give_the_closed_forms(acceptance: Acceptance, seconds: float) -> None:
    # The standard error of the mean of so many rounds is 0.7 % at most.
    rows = 5000 if acceptance == BATCH_SYNCHRONOUS else ROWS
    assert mean_seconds(run(exponential, acceptance, rows=rows)) == pytest.approx(seconds, rel=0.02)


@pytest.mark.parametrize(
    ("acceptance", "seconds"),
    [
        # E = 0.5 + 0.5 · (H_16 − H_8)
        (SYNCHRONOUS, 0.831),
        # Few workers finish two mini-batches within a round: they take at least 1 s, and a round 0.83 s.
        (BATCH_SYNCHRONOUS, 0.831),
        # A shifted exponential is new-longer-than-used, so what is under way comes sooner than what begins.
        (STALE_SYNCHRONOUS, 0.644),
        # K · E[X] / P
        (ASYNCHRONOUS, 0.500),
    ],
    ids=["K-sync", "K-batch-sync", "K-async", "K-batch-async"],
)
def test_shifted_exponential_run_times_give_the_known_figures(acceptance: Acceptance, seconds: float) -> None:
    assert mean_seconds(run(shifted, acceptance)) == pytest.approx(seconds, rel=0.02)


@pytest.mark.parametrize(
    "law",
    [
        lambda rng, shape: rng.lognormal(-0.5, 1.0, shape),
        lambda rng, shape: rng.uniform(0.5, 1.5, shape),
        lambda rng, shape: np.where(rng.random(shape) < 0.1, 5.5, 0.5),
    ],
    ids=["log-normal", "uniform", "two values"],
)
def test_mini_batches_of_whatever_version_take_their_share_of_the_mean_under_any_law(law: Law) -> None:
    simulated = run(law, ASYNCHRONOUS, p=8, k=4, rows=4000)
    assert mean_seconds(simulated) == pytest.approx(4 / 8, rel=0.02)


def test_rounds_at_once_give_the_same_closed_form() -> None:
    table = Table.dense(exponential(np.random.default_rng(3), (40_000, P)))
    expected = (harmonic(P) - harmonic(P - K)) / RATE
    assert first_arrivals(table, K).elapsed.mean() == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("n", [4, 10])
def test_asynchronous_gradients_of_equal_workers_are_n_minus_1_versions_old(n: int) -> None:
    table = Table.dense(np.random.default_rng(0).lognormal(0.0, 0.3, (1500, n)))
    named = POLICIES["async"]
    simulated = replay(table, named.make(), acceptance=named.acceptance)
    assert simulated.staleness[SETTLED:].mean() == pytest.approx(n - 1, rel=0.01)


@pytest.mark.parametrize(("n", "k"), [(12, 2), (12, 4), (30, 15)])
def test_softsync_gradients_are_about_k_versions_old(n: int, k: int) -> None:
    table = Table.dense(np.random.default_rng(0).lognormal(0.0, 0.3, (800, n)))
    named = POLICIES["softsync"]
    simulated = replay(table, named.make(k=k), acceptance=named.acceptance)
    cutoff = n // k
    assert (simulated.counts == cutoff).all()
    # A worker's next gradient is n arrivals after its last: n − 1 others, c of them to a version.
    assert simulated.staleness[n * SETTLED :].mean() == pytest.approx((n - 1) / cutoff, rel=0.01)
    assert simulated.staleness[n * SETTLED :].mean() == pytest.approx(k, rel=0.1)


def test_synchronous_gradients_are_never_old() -> None:
    for acceptance in (SYNCHRONOUS, BATCH_SYNCHRONOUS):
        assert (run(shifted, acceptance, rows=200).staleness == 0).all()
