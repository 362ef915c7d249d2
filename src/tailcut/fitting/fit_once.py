"""A forecaster that collects rounds, trains the published model on them once, then forecasts with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np

from tailcut.errors import ParameterError
from tailcut.fitting.bdsgd import BdsgdSettings, BdsgdTraining
from tailcut.fitting.loop import fit
from tailcut.forecast.base import Forecaster
from tailcut.forecast.bdsgd.forecaster import Bdsgd, BdsgdBelief
from tailcut.forecast.bdsgd.model import BdsgdModel
from tailcut.types import FloatArray, Forecast, IntArray, Roster, RunTimes

BEFOREHAND = 400
"""Rounds of a separate draw on which the published model is trained for comparisons and studies."""
EPOCHS, PATIENCE = 80, 20
"""Most epochs of the training, and epochs without a better held-out loss after which it ends."""


@dataclass(frozen=True, slots=True, eq=False)
class FitOnceBelief:
    """The belief of `FitOnce`: rounds collected so far; after training, the model and its own belief.

    Attributes:
        rounds: rounds collected for the training; empty after it.
        model: the trained model; None before the training.
        inner: belief of the model's forecaster.
    """

    rounds: tuple[RunTimes, ...] = ()
    model: BdsgdModel | None = None
    inner: BdsgdBelief = field(default_factory=BdsgdBelief)


@final
@dataclass(frozen=True, slots=True)
class FitOnce(Forecaster[FitOnceBelief]):
    """A forecaster that fits its model once, after `train` rounds; before that it gives no forecast.

    The rule should wait for all workers until then. The model covers the workers that were observed. Where
    one was absent or censored, its own mean is filled in, because training needs full rounds.

    Attributes:
        train: rounds to collect.
        settings: settings of the training.
        epochs: most epochs of the training; counted, not timed, so that the same rounds give the same model.
        patience: epochs without a better held-out loss after which training ends.
        samples: joint draws per forecast.
        seed: seed of training and draws.
        beforehand: rounds to train on where a separate draw of the cluster is available.
    """

    train: int = 100
    settings: BdsgdSettings = field(default_factory=BdsgdSettings)
    epochs: int = EPOCHS
    patience: int = PATIENCE
    samples: int = 128
    seed: int = 0
    beforehand: int = BEFOREHAND

    def __post_init__(self) -> None:
        refuse_few_rounds(self.train, self.settings)

    @property
    def is_trained(self) -> bool:
        """Return False: `trained` gives another forecaster, `Bdsgd`."""
        return False

    @property
    def rounds_beforehand(self) -> int:
        """Rounds of a separate draw on which this forecaster should be trained."""
        return self.beforehand

    @property
    def rounds_in_run(self) -> int:
        """Rounds that this forecaster collects in a run."""
        return self.train

    @property
    def least_rounds(self) -> int:
        """Fewest rounds that training works with."""
        return self.settings.least_rounds

    def trained(self, rounds: Sequence[RunTimes]) -> Bdsgd:
        """Return the published forecaster with a model trained on these rounds."""
        model, _ = fitted(rounds, self.settings, self.seed, self.epochs, self.patience)
        return Bdsgd(model, self.samples, self.seed)

    def collecting(self, rounds: int) -> FitOnce:
        """Return the same with another number of rounds to collect."""
        return replace(self, train=rounds)

    def start(self) -> FitOnceBelief:
        """Return the belief before the first round."""
        return FitOnceBelief()

    def learn(self, belief: FitOnceBelief, seen: RunTimes) -> FitOnceBelief:
        """Collect the round, train when there are enough, or let the model's forecaster learn.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed during training; the belief stays as it was.
        """
        if belief.model is not None:
            return replace(belief, inner=self._forecaster(belief.model).learn(belief.inner, seen))
        if seen.late or not seen.observed.any():
            return belief
        rounds = (*belief.rounds, seen)
        if len(rounds) < self.train:
            return replace(belief, rounds=rounds)
        model, rows = fitted(rounds, self.settings, self.seed, self.epochs, self.patience)
        window = tuple(rows[-self.settings.window :])
        return FitOnceBelief((), model, BdsgdBelief(window, len(rows)))

    def forecast(self, belief: FitOnceBelief, roster: Roster) -> Forecast | None:
        """Return the forecast of the trained model; None before the training."""
        if belief.model is None:
            return None
        return self._forecaster(belief.model).forecast(belief.inner, roster)

    def _forecaster(self, model: BdsgdModel) -> Bdsgd:
        return Bdsgd(model, self.samples, self.seed)


def refuse_few_rounds(train: int, settings: BdsgdSettings) -> None:
    """Raise a `ParameterError` where training would have too few rounds."""
    least = settings.least_rounds
    if train < least:
        raise ParameterError(
            f"train must be at least {least} rounds for windows of {settings.window}, but got {train}. "
            "Try train=100, or a shorter window."
        )


def fitted(
    rounds: Sequence[RunTimes], settings: BdsgdSettings, seed: int, epochs: int, patience: int
) -> tuple[BdsgdModel, FloatArray]:
    """Train a model; return it with the `(rounds, workers)` seconds that it was trained on.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed during training.
    """
    workers, rows = filled(rounds)
    training = BdsgdTraining(rows, settings, seed, workers)
    if fit(training, epochs=epochs, patience=patience).interrupted:
        raise KeyboardInterrupt
    return training.model(), rows


def filled(rounds: Sequence[RunTimes]) -> tuple[IntArray, FloatArray]:
    """Return all observed workers, and `(rounds, workers)` seconds with a worker's own mean in its gaps."""
    workers = np.unique(np.concatenate([seen.workers[seen.observed] for seen in rounds]))
    rows = np.full((len(rounds), len(workers)), np.nan)
    for row, seen in zip(rows, rounds, strict=True):
        row[np.searchsorted(workers, seen.workers[seen.observed])] = seen.seconds[seen.observed]
    return workers, np.where(np.isnan(rows), np.nanmean(rows, axis=0), rows)
