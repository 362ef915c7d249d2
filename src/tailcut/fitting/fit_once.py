"""A forecaster that collects rounds, trains the published model on them once, and forecasts with it from then on."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True, eq=False)
class FitOnceBelief:
    """Rounds collected so far; after training, the model and its own belief.

    Attributes:
        rounds: at most `train` rounds, none once the model is there.
        model: what training has left behind, None before.
        inner: what the model's forecaster believes.
    """

    rounds: tuple[RunTimes, ...] = ()
    model: BdsgdModel | None = None
    inner: BdsgdBelief = field(default_factory=BdsgdBelief)


@final
@dataclass(frozen=True, slots=True)
class FitOnce(Forecaster[FitOnceBelief]):
    """Collect `train` rounds, fit, forecast. Until then there is no forecast, and the rule should wait for all.

    The model is for the workers seen until then. Where one was away or cut, its own mean stands in: training wants
    full rounds.

    Attributes:
        train: rounds to collect.
        settings: of the training.
        epochs: of the training, at most; counted, not timed, so that the same rounds give the same model.
        patience: epochs without a better held-out loss after which training ends.
        samples: joint draws per forecast.
        seed: of training and draws.
    """

    train: int = 100
    settings: BdsgdSettings = field(default_factory=BdsgdSettings)
    epochs: int = 80
    patience: int = 20
    samples: int = 128
    seed: int = 0

    def __post_init__(self) -> None:
        least = self.settings.least_rounds
        if self.train < least:
            raise ParameterError(
                f"train must be at least {least} rounds for windows of {self.settings.window}, but got {self.train}. "
                "Try train=100, or a shorter window."
            )

    def start(self) -> FitOnceBelief:
        """Nothing seen."""
        return FitOnceBelief()

    def learn(self, belief: FitOnceBelief, seen: RunTimes) -> FitOnceBelief:
        """Collect the round, train when there are enough, or let the model's forecaster learn.

        Raises:
            KeyboardInterrupt: it came while training; the belief stays as it was.
        """
        if belief.model is not None:
            return replace(belief, inner=self._forecaster(belief.model).learn(belief.inner, seen))
        if seen.late or not seen.observed.any():
            return belief
        rounds = (*belief.rounds, seen)
        if len(rounds) < self.train:
            return replace(belief, rounds=rounds)
        workers, rows = filled(rounds)
        training = BdsgdTraining(rows, self.settings, self.seed, workers)
        if fit(training, epochs=self.epochs, patience=self.patience).interrupted:
            raise KeyboardInterrupt
        window = tuple(rows[-self.settings.window :])
        return FitOnceBelief((), training.model(), BdsgdBelief(window, len(rows)))

    def forecast(self, belief: FitOnceBelief, roster: Roster) -> Forecast | None:
        """As the trained model says."""
        if belief.model is None:
            return None
        return self._forecaster(belief.model).forecast(belief.inner, roster)

    def _forecaster(self, model: BdsgdModel) -> Bdsgd:
        return Bdsgd(model, self.samples, self.seed)


def filled(rounds: tuple[RunTimes, ...]) -> tuple[IntArray, FloatArray]:
    """Every worker that was ever observed, and `(rounds, workers)` seconds with its own mean in the gaps."""
    workers = np.unique(np.concatenate([seen.workers[seen.observed] for seen in rounds]))
    rows = np.full((len(rounds), len(workers)), np.nan)
    for row, seen in zip(rows, rounds, strict=True):
        row[np.searchsorted(workers, seen.workers[seen.observed])] = seen.seconds[seen.observed]
    return workers, np.where(np.isnan(rows), np.nanmean(rows, axis=0), rows)
