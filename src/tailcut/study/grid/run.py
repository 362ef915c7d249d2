"""One way to train on one task, cluster and seed: at one learning rate, or at several that share a schedule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from tailcut.engines.simulated.training import Trained, train
from tailcut.learning.tasks.base import Target
from tailcut.study.grid.config import Study
from tailcut.study.grid.journal import Writer
from tailcut.study.grid.makers import Makers
from tailcut.study.grid.schedule import Schedule
from tailcut.study.grid.setup import Place, Setup

MUCH_LONGER = 1.5


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a run, as tuning and tables need it.

    Attributes:
        rate: base learning rate.
        ending: `reached`, `not reached` or `diverged`.
        seconds: virtual seconds to the target, infinite where it was not reached.
        last: the target's figure at the last evaluation, NaN where there was none.
    """

    rate: float
    ending: str
    seconds: float
    last: float


def try_rates(study: Study, makers: Makers, place: Place, rates: Sequence[float]) -> list[Result]:
    """Train at each rate, without a journal; a policy that only counts gradients has one schedule for all.

    A run that takes much longer than that of another rate is stopped: it counts as one that missed the
    target.
    """
    setup = _alone(study, makers, place)
    schedule = None if setup.follows else Schedule(setup.stream())
    results: list[Result] = []
    for rate in rates:
        stream = setup.stream() if schedule is None else schedule.again()
        limit = MUCH_LONGER * min((result.seconds for result in results), default=math.inf)
        trained = train(stream, setup.trainer(rate), setup.meter(), setup.quick_look(limit))
        results.append(_result(rate, trained, setup.target))
    return results


def run(study: Study, makers: Makers, place: Place, rate: float, journal: Path) -> Result:
    """Train once and write the journal, which replaces an older one."""
    setup = _alone(study, makers, place)
    trainer = setup.trainer(rate)
    writer = Writer(journal, setup.head(rate, trainer))
    try:
        trained = train(setup.stream(), trainer, setup.meter(), setup.look, watch=writer.point)
        writer.end(trained)
    finally:
        writer.close()
    return _result(rate, trained, setup.target)


def _alone(study: Study, makers: Makers, place: Place) -> Setup:
    # There is one process per core: more threads would only slow each other down.
    torch.set_num_threads(1)
    return Setup.of(study, makers, place)


def _result(rate: float, trained: Trained, target: Target) -> Result:
    last = trained.points[-1].figures[target.figure] if trained.points else math.nan
    return Result(rate, trained.ending, trained.seconds_to_target, last)
