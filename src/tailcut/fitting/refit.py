"""A forecaster that retrains the published model when the cluster has changed since the last training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import final

from tailcut.fitting.bdsgd import BdsgdSettings
from tailcut.fitting.fit_once import BEFOREHAND, EPOCHS, PATIENCE, fitted, refuse_few_rounds
from tailcut.forecast.base import Forecaster
from tailcut.forecast.bdsgd.forecaster import Bdsgd, BdsgdBelief
from tailcut.forecast.bdsgd.model import BdsgdModel
from tailcut.types import Forecast, Roster, RunTimes

WATCHED = 20
"""Number of last rounds whose median score is compared with that of as many first rounds under a model."""
WORSE = 1.0
"""Fall of the median score at which a model is replaced, in nats per worker: a factor of e in density."""


@dataclass(frozen=True, slots=True, eq=False)
class RefitBelief:
    """The belief of `Refit`: the model, its own belief, its scores, and rounds for the next training.

    Attributes:
        model: the model in use; None before the first training.
        inner: belief of the model's forecaster.
        usual: scores of the first rounds under this model.
        recent: scores of the last rounds.
        changed: whether the model no longer fits; rounds are then collected for the next one.
        rounds: rounds collected so far.
        trainings: number of models trained in the run.
    """

    model: BdsgdModel | None = None
    inner: BdsgdBelief = field(default_factory=BdsgdBelief)
    usual: tuple[float, ...] = ()
    recent: tuple[float, ...] = ()
    changed: bool = False
    rounds: tuple[RunTimes, ...] = ()
    trainings: int = 0


@final
@dataclass(frozen=True, slots=True)
class Refit(Forecaster[RefitBelief]):
    """A forecaster with the published model, retrained on `train` rounds when its forecasts become worse.

    Each round is scored by the model that forecast it: the mean log density of the workers' run times. The cluster
    counts as changed once the median score of the last 20 rounds is 1 nat per worker below that of the first 20 rounds
    under the same model. A median leaves out the single rounds in which a node turns slow. From then on there
    is no forecast until `train` rounds are collected, as in the paper's collection phase.

    The paper trains only once; retraining is our extension.

    Attributes:
        model: the initial model; None to collect rounds and train first.
        train: rounds to collect for a training.
        settings, epochs, patience: settings of a training, as in `FitOnce`.
        samples: joint draws per forecast.
        seed: seed of trainings and draws.
        beforehand: rounds to train on where a separate draw of the cluster is available.
    """

    model: BdsgdModel | None = None
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
        """Return whether there is an initial model."""
        return self.model is not None

    @property
    def rounds_beforehand(self) -> int:
        """Rounds of a separate draw on which this forecaster should be trained."""
        return self.beforehand

    @property
    def rounds_in_run(self) -> int:
        """Rounds that this forecaster collects for a training."""
        return self.train

    @property
    def least_rounds(self) -> int:
        """Fewest rounds that training works with."""
        return self.settings.least_rounds

    def trained(self, rounds: Sequence[RunTimes]) -> Refit:
        """Return the same with a model trained on these rounds to begin with."""
        return replace(self, model=fitted(rounds, self.settings, self.seed, self.epochs, self.patience)[0])

    def collecting(self, rounds: int) -> Refit:
        """Return the same with another number of rounds to collect."""
        return replace(self, train=rounds)

    def start(self) -> RefitBelief:
        """Return the belief before the first round, with the initial model."""
        return RefitBelief(self.model)

    def learn(self, belief: RefitBelief, seen: RunTimes) -> RefitBelief:
        """Score the round and let the model's forecaster learn it, or collect it and train when there are enough.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed during training; the belief stays as it was.
        """
        if belief.model is None or belief.changed:
            return self._collected(belief, seen)
        forecaster = self._forecaster(belief.model)
        score = None if seen.late else forecaster.log_score(belief.inner, seen)
        after = replace(belief, inner=forecaster.learn(belief.inner, seen))
        if score is None:
            return after
        if len(after.usual) < WATCHED:
            return replace(after, usual=(*after.usual, score))
        recent = (*after.recent, score)[-WATCHED:]
        changed = len(recent) == WATCHED and median(recent) < median(after.usual) - WORSE
        return replace(after, recent=recent, changed=changed)

    def forecast(self, belief: RefitBelief, roster: Roster) -> Forecast | None:
        """Return the forecast of the model in use; None while rounds are collected."""
        if belief.model is None or belief.changed:
            return None
        return self._forecaster(belief.model).forecast(belief.inner, roster)

    def _collected(self, belief: RefitBelief, seen: RunTimes) -> RefitBelief:
        if seen.late or not seen.observed.any():
            return belief
        rounds = (*belief.rounds, seen)
        if len(rounds) < self.train:
            return replace(belief, rounds=rounds)
        model, rows = fitted(rounds, self.settings, self.seed, self.epochs, self.patience)
        inner = BdsgdBelief(tuple(rows[-self.settings.window :]), len(rows))
        return RefitBelief(model, inner, trainings=belief.trainings + 1)

    def _forecaster(self, model: BdsgdModel) -> Bdsgd:
        return Bdsgd(model, self.samples, self.seed)
