"""Model files of the network of `bayes`, whose arrays are checked when they are read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from importlib.resources import as_file, files

import numpy as np

from tailcut.forecast.bayes.deep import SIZES, Deep
from tailcut.modelfile import read_model, write_model

KIND = "bayes"


def write_bayes(path: str | os.PathLike[str], model: Deep, about: Mapping[str, str]) -> None:
    """Write a trained network.

    Raises:
        ModelFileError: the file cannot be written.
    """
    arrays = {}
    for k, (weight, bias) in enumerate(zip(model.weights, model.biases, strict=True)):
        arrays[f"weight.{k}"] = np.ascontiguousarray(weight, dtype=np.float32)
        arrays[f"bias.{k}"] = np.ascontiguousarray(bias, dtype=np.float32)
    write_model(path, KIND, arrays, about)


def read_bayes(path: str | os.PathLike[str]) -> Deep:
    """Read a trained network.

    Raises:
        ModelFileError: the file is missing, damaged, or holds another kind of model.
    """
    file = read_model(path, KIND)
    layers = range(len(SIZES) - 1)
    file.only([f"{name}.{k}" for k in layers for name in ("weight", "bias")])
    weights = tuple(file.array(f"weight.{k}", (SIZES[k], SIZES[k + 1])).astype(np.float64) for k in layers)
    biases = tuple(file.array(f"bias.{k}", (SIZES[k + 1],)).astype(np.float64) for k in layers)
    return Deep(weights, biases)


@cache
def read_prior() -> Deep:
    """Read the network of the package, which `tailcut pretrain` trained on simulated clusters."""
    with as_file(files("tailcut.fitting").joinpath("prior.safetensors")) as path:
        return read_bayes(path)
