"""The kinds of model that `tailcut fit` trains on a table, and how each is written to a file.

torch is imported only when something is fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tailcut.errors import InputError
from tailcut.extras import require
from tailcut.fitting.bayes_file import read_prior, write_bayes
from tailcut.fitting.loop import Training
from tailcut.study.playable import refuse_unplayable
from tailcut.table import Table


@dataclass(frozen=True, slots=True)
class Prepared:
    """A training before its first epoch.

    Attributes:
        training: the training to run.
        untrained: held-out loss of the model before the first epoch.
        write: writes the best model so far to a file, with the given metadata.
    """

    training: Training
    untrained: float
    write: Callable[[Path, Mapping[str, str]], None]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of model.

    Attributes:
        start: the model that its training begins with, in words.
        reads: whether all rounds are read one by one before the first epoch, which takes a while.
        refuse: raises an `InputError` if this kind cannot be trained on a table.
        prepare: makes a training from a table, a seed, and a function to call after each round read.
    """

    start: str
    reads: bool
    refuse: Callable[[Table], None]
    prepare: Callable[[Table, int, Callable[[], None]], Prepared]


def _prepared_bayes(table: Table, seed: int, advance: Callable[[], None]) -> Prepared:
    """Prepare a training on samples from a forecaster that runs over the table as it would in a real run."""
    require("tailcut fit", "torch")
    from tailcut.fitting.bayes import BayesTraining
    from tailcut.study.deep_samples import samples_of

    training = BayesTraining(samples_of(table, advance), read_prior(), seed)
    return Prepared(
        training, training.untrained, lambda path, about: write_bayes(path, training.model(), about)
    )


def _refuse_for_bayes(table: Table) -> None:
    """Refuse a table that cannot be replayed; censored run times and absent workers are allowed."""
    refuse_unplayable(table, 0.0)


def _prepared_bdsgd(table: Table, seed: int, advance: Callable[[], None]) -> Prepared:
    """Prepare the published training, which learns from windows of rounds."""
    del advance
    require("tailcut fit", "torch")
    from tailcut.fitting.bdsgd import BdsgdSettings, BdsgdTraining
    from tailcut.fitting.bdsgd_file import write_bdsgd

    training = BdsgdTraining(table.seconds, BdsgdSettings(), seed)
    return Prepared(
        training, training.untrained, lambda path, about: write_bdsgd(path, training.model(), about)
    )


def _refuse_for_bdsgd(table: Table) -> None:
    """Refuse missing and censored run times, which the published model cannot use."""
    absent = int(np.isnan(table.seconds).sum())
    cut = int((~table.observed).sum()) - absent
    if absent or cut:
        raise InputError(
            f"--kind bdsgd is trained on rounds in which every worker was seen, but {table.source} has {absent:,} "
            f"missing and {cut:,} censored run times. Leave out those rounds or workers, or take --kind bayes."
        )
    refuse_unplayable(table, 0.0)


KINDS = {
    "bayes": Kind("the network that comes with the package", True, _refuse_for_bayes, _prepared_bayes),
    "bdsgd": Kind("a model of each worker's mean", False, _refuse_for_bdsgd, _prepared_bdsgd),
}
"""Kinds of model by the name of the policy that reads the file."""
