"""The training loop, for any model: stops early, within a budget or at Ctrl-C, and can be resumed bit for bit."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from numpy.typing import NDArray

from tailcut.errors import ParameterError
from tailcut.types import Seconds

Arrays: TypeAlias = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Standing:
    """The progress of a training.

    Attributes:
        epochs: number of finished epochs.
        best_epoch: the epoch with the lowest held-out loss, counted from 1; 0 before the first.
        best_loss: held-out loss of that epoch.
    """

    epochs: int = 0
    best_epoch: int = 0
    best_loss: float = math.inf

    def after(self, loss: float) -> Standing:
        """Return the progress one epoch later; a loss that is not a number is never the best."""
        epochs = self.epochs + 1
        if loss < self.best_loss:
            return Standing(epochs, epochs, loss)
        return Standing(epochs, self.best_epoch, self.best_loss)


class Training(ABC):
    """A model in training, with all state that is needed to resume it."""

    @abstractmethod
    def epoch(self) -> float:
        """Train for one epoch, keep the weights if they are the best so far, return the held-out loss."""

    @abstractmethod
    def standing(self) -> Standing:
        """Return the progress of the training."""

    @abstractmethod
    def arrays(self) -> Arrays:
        """Return a copy of all state: weights, optimizer, best weights so far, progress, random numbers."""

    @abstractmethod
    def restore(self, arrays: Arrays) -> None:
        """Restore a state that `arrays` returned."""

    @abstractmethod
    def model_arrays(self) -> Arrays:
        """The weights of the best model so far."""


@dataclass(frozen=True, slots=True)
class FitReport:
    """The result of `fit`.

    Attributes:
        standing: epochs, best epoch and best loss.
        losses: held-out loss of each epoch of this call.
        interrupted: whether Ctrl-C ended it; the training is then at the end of its last complete epoch.
        early: whether it stopped because the held-out loss did not improve for `patience` epochs.
    """

    standing: Standing
    losses: tuple[float, ...]
    interrupted: bool
    early: bool


Progress: TypeAlias = Callable[[Standing, float], None]


def _silent(standing: Standing, loss: float) -> None:
    del standing, loss


def _no_clock() -> Seconds:
    return 0.0


def fit(
    training: Training,
    *,
    epochs: int,
    patience: int,
    seconds: Seconds = math.inf,
    clock: Callable[[], Seconds] = _no_clock,
    progress: Progress = _silent,
) -> FitReport:
    """Train until the epochs are done, the loss stops improving, time is up, or Ctrl-C is pressed.

    Args:
        training: the training to run; it may have been restored.
        epochs: most epochs in total, those before a restore included.
        patience: epochs without a better held-out loss after which it stops.
        seconds: time budget of this call, looked at after each epoch; at least one epoch is done.
        clock: returns the time in seconds; needed only with a budget.
        progress: called after each epoch with the progress and the epoch's held-out loss.
    """
    if epochs < 1:
        raise ParameterError(f"epochs must be at least 1, but got {epochs}. Try epochs=200.")
    if patience < 1:
        raise ParameterError(f"patience must be at least 1 epoch, but got {patience}. Try patience=20.")
    if not seconds > 0:
        raise ParameterError(f"seconds must be more than 0, but got {seconds}. Try seconds=60.")
    losses: list[float] = []
    begun, whole = clock(), training.arrays()
    try:
        while not _over(training.standing(), epochs, patience) and (not losses or clock() - begun < seconds):
            loss = training.epoch()
            # An interrupt before `whole` is replaced discards this epoch; afterwards the epoch counts.
            whole = training.arrays()
            losses.append(loss)
            progress(training.standing(), loss)
        interrupted = False
    except KeyboardInterrupt:
        training.restore(whole)
        interrupted = True
    standing = training.standing()
    stuck = standing.epochs - standing.best_epoch >= patience
    return FitReport(standing, tuple(losses), interrupted, early=stuck and not interrupted)


def _over(standing: Standing, epochs: int, patience: int) -> bool:
    return standing.epochs >= epochs or standing.epochs - standing.best_epoch >= patience
