"""`elfving` against an implementation that was written from the published formula and shares no code with it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from plain_bounds import clairvoyant_cutoffs, throughput
from scipy import stats

from tailcut import names
from tailcut.study.compare import CLAIRVOYANT, Setting
from tailcut.study.one_run import Match, play_one

WINDOW, ROUNDS, SEEDS = 20, 300, 2
"""The groups of groups-in-turn are slow once in 100 rounds: three times each."""


def elfving_cutoffs(seconds: np.ndarray) -> np.ndarray:
    """Cutoffs argmax c / E[x_(c)] with E[x_(c)] = μ + σ·Φ⁻¹((c − π/8)/(n − π/4 + 1)), no less than the fastest seen.

    μ and σ are the moments of all run times of the last 20 rounds. The first round waits for all.
    """
    rounds, n = seconds.shape
    rank = np.arange(1, n + 1)
    scores = stats.norm.ppf((rank - math.pi / 8) / (n - math.pi / 4 + 1))
    cutoffs = np.full(rounds, n)
    for t in range(1, rounds):
        recent = seconds[max(0, t - WINDOW) : t].ravel()
        expected = np.maximum(np.mean(recent) + np.std(recent) * scores, np.min(recent))
        cutoffs[t] = rank[np.argmax(rank / expected)]
    return cutoffs


@pytest.mark.parametrize(("cluster", "least"), [("xeon158", 0.65), ("groups-in-turn", 0.55)])
def test_an_independent_implementation_agrees_and_both_are_at_their_best(cluster: str, least: float) -> None:
    source = names.source(cluster)
    _, workers = source.size(None)
    skip = Setting().warmup_of(ROUNDS)
    match = Match(source, (names.entrant("elfving"),), ROUNDS, None, None, skip)
    ours, theirs = [], []
    for seed in range(SEEDS):
        seconds = match.draw(seed).table.seconds
        assert match.draw(seed).overhead == 0
        assert seconds.shape == (ROUNDS, workers)
        ours.append(play_one(match, seed, "elfving").rate / play_one(match, seed, CLAIRVOYANT).rate)
        plain = throughput(seconds, elfving_cutoffs(seconds), skip)
        theirs.append(plain / throughput(seconds, clairvoyant_cutoffs(seconds), skip))
    assert np.mean(ours) == pytest.approx(np.mean(theirs), abs=0.01)
    assert ours == pytest.approx(theirs, abs=0.02)
    assert np.mean(ours) >= least
