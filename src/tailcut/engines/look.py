"""The evaluation of the net during training, on held-out data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from tailcut.types import Seconds


@final
@dataclass(frozen=True, slots=True)
class Look:
    """The result of one evaluation of the net.

    Attributes:
        version: version of the parameters.
        seconds: seconds from the start of the run until the evaluating process had these parameters; a late
            worker has them late.
        figures: results that the task computes, by name.

    Example:
        >>> print(Look(20, 1.53, {"test_loss": 0.25}))
          1.5 s, 20 updates: test loss 0.25
    """

    version: int
    seconds: Seconds
    figures: Mapping[str, float]

    def __str__(self) -> str:
        """Return the result as a line for people."""
        figures = ", ".join(f"{name.replace('_', ' ')} {value:.3g}" for name, value in self.figures.items())
        return f"{self.seconds:5.1f} s, {self.version} updates: {figures}"
