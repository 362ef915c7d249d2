"""`tailcut pretrain` with few clusters and one epoch: a model file that `bayes` takes."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import Cli, Refused

pytest.importorskip("torch", reason="training needs it")

import torch

from tailcut.fitting.bayes import Network, bin_loss
from tailcut.fitting.bayes_file import read_bayes, read_prior
from tailcut.study.deep_samples import samples_of
from tailcut.study.pretraining import random_table


def test_it_writes_a_model_that_bayes_reads(cli: Cli) -> None:
    # The 12 random clusters of seed 83 are smaller than those of any other seed under 100.
    least = ("--clusters", "12", "--rounds", "40", "--epochs", "1", "--seed", "83")
    ended = cli("pretrain", "-o", "prior.safetensors", *least)
    assert ended.code == 0
    assert "12 clusters" in ended.out
    shapes = [weight.shape for weight in read_bayes("prior.safetensors").weights]
    assert shapes == [weight.shape for weight in read_prior().weights]


def test_too_few_clusters_are_refused(refused: Refused) -> None:
    assert "--clusters must be at least 12, but got 3" in refused("pretrain", "-o", "x", "--clusters", "3")
    assert "--rounds must be at least 40, but got 8" in refused("pretrain", "-o", "x", "--rounds", "8")


def test_the_network_of_the_package_foresees_clusters_it_was_not_trained_on() -> None:
    """Random clusters of another seed: true run times, of cut workers too, fall more often where it expects them."""
    gains = []
    for index in range(4):
        samples = samples_of(random_table(50, np.random.default_rng([99, index])))
        features, bins = torch.tensor(samples.features, dtype=torch.float32), torch.tensor(samples.bins)
        with torch.no_grad():
            losses = [
                float(bin_loss(Network(start, torch.Generator().manual_seed(0))(features), bins))
                for start in (None, read_prior())
            ]
        gains.append(losses[0] - losses[1])
    assert np.mean(gains) > 0.01


@pytest.mark.parametrize("seed", range(24))
def test_random_clusters_are_playable(seed: int) -> None:
    table = random_table(20, np.random.default_rng(seed))
    there = table.seconds[~np.isnan(table.seconds)]
    assert table.rounds == 20
    assert np.isfinite(there).all()
    assert (there > 0).all()
