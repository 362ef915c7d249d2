"""Training of the deep part of `bayes`: its loss, its samples, its files."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="training needs it")

import torch

from tailcut.clusters import Iid, LogNormal
from tailcut.errors import ModelFileError, ParameterError
from tailcut.fitting.bayes import BayesTraining, Network, bin_loss
from tailcut.fitting.bayes_file import read_bayes, read_prior, write_bayes
from tailcut.fitting.loop import fit
from tailcut.fitting.samples import Samples
from tailcut.forecast.bayes.context import FEATURES
from tailcut.forecast.bayes.deep import EDGES, HAZARDS, Deep, plain_log_odds, with_hazards
from tailcut.forecast.trend.cells import COUNT
from tailcut.study.deep_samples import FIRST, samples_of
from tailcut.testing.histories import table
from tailcut.types import FloatArray


def chances(log_odds: FloatArray) -> list[float]:
    """Return the probability of every bin in turn."""
    left, out = 1.0, []
    for odds in log_odds:
        hazard = 1.0 / (1.0 + math.exp(-odds))
        out.append(left * hazard)
        left *= 1.0 - hazard
    return [*out, left]


def made(n: int = 2000, seed: int = 0) -> Samples:
    """Make samples whose first feature tells in which half of the bins the run time falls."""
    rng = np.random.default_rng(seed)
    read = rng.standard_normal((n, FEATURES))
    u = 0.5 * rng.random(n) + 0.5 * (read[:, 0] > 0)
    return Samples(read, np.searchsorted(EDGES[1:-1], u, side="right"), np.arange(n) >= 0.8 * n)


def test_the_loss_is_the_log_likelihood_of_the_bins() -> None:
    rng = np.random.default_rng(1)
    log_odds = 2.0 * rng.standard_normal((HAZARDS + 1, HAZARDS))
    bins = np.arange(HAZARDS + 1)
    expected = -np.mean([math.log(chances(row)[k]) for row, k in zip(log_odds, bins, strict=True)])
    assert float(bin_loss(torch.tensor(log_odds), torch.tensor(bins))) == pytest.approx(expected)


def test_plain_log_odds_give_the_widths_of_the_bins() -> None:
    np.testing.assert_allclose(chances(plain_log_odds()), np.diff(EDGES))


def test_the_torch_network_and_the_numpy_one_are_the_same() -> None:
    training = BayesTraining(made(), None, seed=3)
    for _ in range(3):
        training.epoch()
    best = training.standing().best_epoch
    assert best == 3  # so that the model is the network as it stands
    read = np.random.default_rng(2).standard_normal((20, FEATURES))
    with torch.no_grad():
        log_odds = training._module(torch.tensor(read, dtype=torch.float32)).numpy()
    np.testing.assert_allclose(training.model().corrections(read), log_odds - plain_log_odds(), atol=1e-4)
    law = np.random.default_rng(3).dirichlet(np.ones(COUNT), size=20)
    corrected = with_hazards(law, log_odds.astype(np.float64) - plain_log_odds())
    np.testing.assert_allclose(training.model().corrected(read, law), corrected, atol=1e-5)


def test_it_starts_where_it_corrects_nothing() -> None:
    training = BayesTraining(made(), None, seed=0)
    np.testing.assert_array_equal(
        training.model().corrections(np.ones((2, FEATURES))), np.zeros((2, HAZARDS))
    )
    widths = np.diff(EDGES)
    held_out = made().bins[made().held_out]
    assert training.untrained == pytest.approx(-np.log(widths[held_out]).mean(), rel=1e-5)


def test_it_starts_with_the_weights_given() -> None:
    prior = read_prior()
    network = Network(prior, torch.Generator())
    read = np.random.default_rng(4).standard_normal((5, FEATURES))
    with torch.no_grad():
        log_odds = network(torch.tensor(read, dtype=torch.float32)).numpy()
    np.testing.assert_allclose(log_odds - plain_log_odds(), prior.corrections(read), atol=1e-4)


def test_it_learns_what_there_is_to_learn() -> None:
    """Knowing the half is worth log 2 a run time."""
    training = BayesTraining(made(40_000), None, seed=0)
    report = fit(training, epochs=15, patience=15)
    gained = training.untrained - report.standing.best_loss
    assert 0.5 < gained < math.log(2.0) + 0.03


def test_where_there_is_nothing_to_learn_little_is_made_up() -> None:
    rng = np.random.default_rng(5)
    bins = np.searchsorted(EDGES[1:-1], rng.random(8000), side="right")
    samples = Samples(rng.standard_normal((8000, FEATURES)), bins, np.arange(8000) >= 6400)
    training = BayesTraining(samples, None, seed=0)
    report = fit(training, epochs=10, patience=3)
    assert abs(report.standing.best_loss - training.untrained) < 0.02


def test_restored_it_goes_on_bit_for_bit() -> None:
    one, other = (BayesTraining(made(), None, seed=6) for _ in range(2))
    for _ in range(2):
        one.epoch()
    other.restore(one.arrays())
    assert [one.epoch() for _ in range(3)] == [other.epoch() for _ in range(3)]
    for name, array in one.arrays().items():
        assert array.tobytes() == other.arrays()[name].tobytes(), name


@pytest.mark.parametrize("held_out", [np.zeros(200, np.bool_), np.ones(200, np.bool_)], ids=["none", "all"])
def test_some_must_be_held_out(held_out: np.ndarray) -> None:
    some = made(200)
    with pytest.raises(ParameterError, match="some of them to be held out"):
        BayesTraining(Samples(some.features, some.bins, held_out), None, seed=0)


def test_a_model_comes_back_from_its_file(tmp_path: Path) -> None:
    training = BayesTraining(made(), None, seed=0)
    training.epoch()
    write_bayes(tmp_path / "m", training.model(), {"source": "made"})
    back = read_bayes(tmp_path / "m")
    for new, old in zip((*back.weights, *back.biases), _all(training.model()), strict=True):
        np.testing.assert_array_equal(new, old)


def _all(model: Deep) -> tuple[FloatArray, ...]:
    return (*model.weights, *model.biases)


def test_a_network_of_other_sizes_is_refused(tmp_path: Path) -> None:
    prior = read_prior()
    narrow = Deep((prior.weights[0][:, :8], prior.weights[1][:8, :8], prior.weights[2][:8]), prior.biases)
    write_bayes(tmp_path / "m", narrow, {})
    with pytest.raises(ModelFileError, match="of shape"):
        read_bayes(tmp_path / "m")


def test_where_the_forecast_is_right_the_bins_are_as_likely_as_they_are_wide() -> None:
    sample = Iid(LogNormal(1.0, 0.3), 20).sample(250, np.random.default_rng(7))
    samples = samples_of(sample.table)
    share = np.bincount(samples.bins, minlength=HAZARDS + 1) / len(samples)
    np.testing.assert_allclose(share, np.diff(EDGES), atol=0.03)


def test_there_is_a_sample_per_true_run_time_and_the_last_rounds_are_held_out() -> None:
    told = []
    some = table(60, 6, seed=1, holes=True)
    samples = samples_of(some, lambda: told.append(1))
    assert len(told) == 60
    assert samples.features.shape == (len(samples), FEATURES)
    assert np.isfinite(samples.features).all()
    assert len(samples) <= int(some.observed[FIRST:].sum())
    assert len(samples) > 0.9 * int(some.observed[FIRST:].sum())
    held_out = int(some.observed[60 - 9 :].sum())
    assert int(samples.held_out.sum()) == held_out
