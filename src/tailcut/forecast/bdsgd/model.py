"""The trained parameters of the published model, the workers they belong to, and the unit of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tailcut.types import IntArray, Seconds

Arrays: TypeAlias = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of the networks. The paper names none of them.

    Attributes:
        n: number of workers, as trained.
        latent: length of the state z.
        hidden: width of every hidden layer.
        window: number of rounds that the inference network reads.
        parts: normal laws in the mixture that a worker's run time follows given z; 1 as published.
    """

    n: int
    latent: int = 16
    hidden: int = 32
    window: int = 10
    parts: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class BdsgdModel:
    """A trained model; arrays are not to be written to.

    Attributes:
        sizes: sizes of the networks.
        workers: `(n,)` ids in the order of the model's columns, increasing.
        scale: seconds that the model counts as 1, the mean of the training run times.
        floor: shortest run time ever forecast, in units of `scale`: hardly one was shorter in training.
        ceiling: longest run time ever read, in units of `scale`; longer ones are read as this.
        weights: all numbers of the networks, one after the other.
    """

    sizes: Sizes
    workers: IntArray
    scale: Seconds
    floor: float
    ceiling: float
    weights: NDArray[np.float32]
