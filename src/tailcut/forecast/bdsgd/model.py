"""What training the published model leaves behind: numbers, the workers they belong to, and the unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tailcut.types import IntArray, Seconds

Arrays: TypeAlias = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large the networks are. The paper names none of these.

    Attributes:
        n: workers, as trained.
        latent: length of the state z.
        hidden: width of every hidden layer.
        window: rounds the inference network reads.
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
        sizes: of the networks.
        workers: `(n,)` ids in the order of the model's columns, increasing.
        scale: seconds that the model counts as 1, the mean of the training run times.
        floor: in units of `scale`; a shorter run time is never forecast, as hardly one was in training.
        ceiling: in units of `scale`; longer run times were, and are, read as this.
        weights: all numbers of the networks, one after the other.
    """

    sizes: Sizes
    workers: IntArray
    scale: Seconds
    floor: float
    ceiling: float
    weights: NDArray[np.float32]
