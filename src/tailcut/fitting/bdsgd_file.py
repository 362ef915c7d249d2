"""Model files of the published model, whose arrays are checked when they are read."""

# ruff: noqa: E402

from __future__ import annotations

from tailcut.extras import require

require("A model file of bdsgd", "torch")

import os
from collections.abc import Mapping

import numpy as np

from tailcut.forecast.bdsgd.model import BdsgdModel, Sizes
from tailcut.forecast.bdsgd.networks import flat, named, shapes
from tailcut.modelfile import read_model, write_model

KIND = "bdsgd"
LARGEST = 2**17
"""Largest size in a model file; no model has more, but a damaged file may claim it."""


def write_bdsgd(path: str | os.PathLike[str], model: BdsgdModel, about: Mapping[str, str]) -> None:
    """Write a trained model.

    Raises:
        ModelFileError: the file cannot be written.
    """
    sizes = model.sizes
    given = {
        "sizes": np.array([sizes.n, sizes.latent, sizes.hidden, sizes.window], dtype=np.int64),
        "workers": model.workers,
        "units": np.array([model.scale, model.floor, model.ceiling]),
    }
    if sizes.parts > 1:
        given["parts"] = np.array([sizes.parts], dtype=np.int64)
    write_model(path, KIND, given | named(sizes, model.weights), about)


def read_bdsgd(path: str | os.PathLike[str]) -> BdsgdModel:
    """Read a trained model.

    Raises:
        ModelFileError: the file is missing, damaged, or holds another kind of model.
    """
    file = read_model(path, KIND)
    numbers = [int(size) for size in file.array("sizes", (4,), np.int64)]
    # Files of the published model, whose law has one part, do not store the number of parts.
    told = ["parts"] if "parts" in file.arrays else []
    numbers += [int(file.array(name, (1,), np.int64)[0]) for name in told]
    if not all(1 <= number <= LARGEST for number in numbers):
        file.refuse(f"gives impossible sizes {numbers}")
    sizes = Sizes(*numbers)
    wanted = shapes(sizes)
    file.only(["sizes", "workers", "units", *told, *wanted])
    workers = file.array("workers", (sizes.n,), np.int64)
    if not (np.diff(workers) > 0).all():
        file.refuse("names a worker twice or out of order")
    scale, floor, ceiling = (float(unit) for unit in file.array("units", (3,), np.float64))
    if not (scale > 0 and 0 < floor <= ceiling):
        file.refuse(f"has impossible units {scale}, {floor} and {ceiling}")
    weights = {name: file.array(name, shape) for name, shape in wanted.items()}
    if not (weights["inference.spread"] > 0).all():
        file.refuse("has a spread that is not > 0")
    return BdsgdModel(sizes, workers, scale, floor, ceiling, flat(sizes, weights))
