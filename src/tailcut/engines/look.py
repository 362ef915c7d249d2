"""A look at the net in training, on the data kept back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from tailcut.types import Seconds


@final
@dataclass(frozen=True, slots=True)
class Look:
    """What a task tells of a net.

    Attributes:
        version: of the parameters.
        seconds: at which they were there, since the run began, where it was looked; a worker that was late sees old
            versions late.
        figures: that the task tells.

    Example:
        >>> print(Look(20, 1.53, {"test_loss": 0.25}))
          1.5 s, 20 updates: test loss 0.25
    """

    version: int
    seconds: Seconds
    figures: Mapping[str, float]

    def __str__(self) -> str:
        """A line for people."""
        figures = ", ".join(f"{name.replace('_', ' ')} {value:.3g}" for name, value in self.figures.items())
        return f"{self.seconds:5.1f} s, {self.version} updates: {figures}"
