"""Samples for the deep part of `bayes`: forecasts from rounds as a run sees them, with the true run times.

The forecaster learns from rounds that are cut as in a real run, and is scored on the true run times, of cut
workers too. Only simulated or fully recorded clusters can show how wrong a forecast is about workers that it
no longer sees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tailcut.fitting.samples import HELD_OUT, Samples
from tailcut.forecast.bayes.bayes import Bayes, plain_position
from tailcut.forecast.bayes.context import features, reached_by
from tailcut.forecast.bayes.deep import EDGES
from tailcut.policies import stopping
from tailcut.study.lessons import closed_rounds
from tailcut.table import Table
from tailcut.types import RunTimes

FIRST = 5
"""Rounds before the first sample."""


def samples_of(table: Table, progress: Callable[[], None] = lambda: None) -> Samples:
    """Return one sample per worker and round of a table; the last 15 % of the rounds are held out.

    Args:
        table: run times; censored ones are learned from but make no sample.
        progress: called after each round.
    """
    forecaster = Bayes()
    belief = forecaster.start()
    read, fell, rounds = [], [], []
    for row, lesson in enumerate(closed_rounds(table, stopping())):
        before = belief
        for seen in (*lesson.reports, lesson.shown):
            if len(seen):
                belief = forecaster.learn(belief, seen)
        progress()
        if before is None or belief is None or row < FIRST or before.base.cells != belief.base.cells:
            continue
        ids = np.flatnonzero(~np.isnan(table.seconds[row]) & table.observed[row])
        ids = ids[np.isin(ids, before.base.ids)]
        where = np.searchsorted(before.base.ids, ids)
        law = before.plain[where]
        truth = RunTimes(ids, table.seconds[row, ids], np.ones(len(ids), np.bool_), table.nodes[ids])
        # The factor of a group in this round is known only after learning the round.
        position = plain_position(replace(before, shared=belief.shared), truth)
        read.append(features(before.context, before.rates, where, law, before.everybody, before.crowd))
        fell.append(np.searchsorted(EDGES[1:-1], reached_by(law, position), side="right"))
        rounds.append(np.full(len(ids), row))
    if not read:
        return Samples(np.zeros((0, 0)), np.zeros(0, np.int64), np.zeros(0, np.bool_))
    when = np.concatenate(rounds)
    held_out = when >= table.rounds - round(HELD_OUT * table.rounds)
    return Samples(np.concatenate(read), np.concatenate(fell).astype(np.int64), held_out)
