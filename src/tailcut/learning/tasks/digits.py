"""The 1,797 hand-written digits that come with scikit-learn: the default task, trained in seconds."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import numpy as np
import torch

from tailcut.extras import require
from tailcut.learning.nets import mlp
from tailcut.learning.tasks.base import Target
from tailcut.learning.tasks.checks import between, whole
from tailcut.learning.tasks.data import Dataset, DataTask
from tailcut.learning.tasks.shares import Shares
from tailcut.types import FloatArray, IntArray

MISLABELLED = 1797
"""Seed of the labels that are drawn at random, the same in every run."""
EVERY = 5
"""One sample in this many is held out."""


def digits(
    *,
    batch: int = 4,
    hidden: int = 64,
    goal: float = 0.95,
    mislabelled: float = 0.0,
    skew: float = 0.0,
    of: int = 1,
    device: str = "cpu",
) -> DataTask:
    """Hand-written digits, 8 x 8 pixels (scikit-learn), a net of one hidden layer; done in seconds.

    Args:
        batch: samples in a worker's mini-batch.
        hidden: units of the net's hidden layer.
        goal: test accuracy at which a run has reached its target.
        mislabelled: share of the training samples whose label is drawn at random. Without it, gradients of
            these few clean images are less noisy than those of large data sets.
        skew: as in `Shares`; 1: each worker has digits of its own.
        of: workers that the data is split over.
        device: device to train on.
    """
    whole("hidden", hidden)
    between("goal", goal, 0.0, 1.0)
    between("mislabelled", mislabelled, 0.0, 1.0)
    data = relabelled(digits_data(), mislabelled).sorted().to(device)
    make = partial(mlp, (64, hidden, 10))
    return DataTask(data, make, Target("accuracy", goal, "least"), batch, shares=Shares(skew, of))


def relabelled(data: Dataset, share: float) -> Dataset:
    """Return the data with random labels for a share of the training samples; other samples are unchanged."""
    draws = np.random.default_rng(MISLABELLED)
    labels = data.labels.numpy().copy()
    at_random = draws.random(len(labels)) < share
    labels[at_random] = draws.integers(0, 10, len(labels))[at_random]
    return replace(data, labels=torch.from_numpy(labels))


def digits_data() -> Dataset:
    """Return the digits with pixels from 0 to 1; every fifth sample is held out."""
    require("The task digits", "sklearn")
    pixels, labels = _read()
    kept_back = torch.arange(len(labels)) % EVERY == 0
    inputs = torch.from_numpy((pixels / 16.0).astype(np.float32))
    classes = torch.from_numpy(labels.astype(np.int64))
    return Dataset(inputs[~kept_back], classes[~kept_back], inputs[kept_back], classes[kept_back])


@cache
def _read() -> tuple[FloatArray, IntArray]:
    """Read pixels and labels, once; callers must not change them."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    return pixels, labels
