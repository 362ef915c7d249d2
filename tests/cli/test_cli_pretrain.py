"""`tailcut pretrain` with few clusters and one epoch: a model file that `bayes` takes."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import Cli, Refused

pytest.importorskip("torch", reason="training needs it")

from tailcut.fitting.bayes_file import read_bayes, read_prior
from tailcut.study.pretraining import random_table


def test_it_writes_a_model_that_bayes_reads(cli: Cli) -> None:
    ended = cli("pretrain", "-o", "prior.safetensors", "--clusters", "12", "--epochs", "1")
    assert ended.code == 0
    assert "12 clusters" in ended.out
    shapes = [weight.shape for weight in read_bayes("prior.safetensors").weights]
    assert shapes == [weight.shape for weight in read_prior().weights]


def test_too_few_clusters_are_refused(refused: Refused) -> None:
    assert "--clusters must be at least 12, but got 3" in refused("pretrain", "-o", "x", "--clusters", "3")


@pytest.mark.parametrize("seed", range(24))
def test_random_clusters_are_playable(seed: int) -> None:
    table = random_table(20, np.random.default_rng(seed))
    there = table.seconds[~np.isnan(table.seconds)]
    assert table.rounds == 20
    assert np.isfinite(there).all()
    assert (there > 0).all()
