"""`bdsgd` against a choice of cutoffs written from the paper's description; the two share no code, only the samples."""

from __future__ import annotations

import numpy as np
import pytest
from plain_bounds import clairvoyant_cutoffs, throughput

pytest.importorskip("torch")

from tailcut import names
from tailcut.bounds import clairvoyant
from tailcut.fitting.bdsgd import BdsgdSettings
from tailcut.fitting.fit_once import FitOnce
from tailcut.forecast.bdsgd.forecaster import Bdsgd, Components
from tailcut.policy import Policy
from tailcut.rules import Ahead, WarmUp
from tailcut.study.contest import Entrant, contest
from tailcut.study.lessons import every_row

ROUNDS, WINDOW, SKIP = 120, 5, 12


def chosen_cutoff(draws: np.ndarray, overhead: float) -> int:
    """Sort every joint sample, average the sorted samples to E[x_(j)], take the j with most gradients per second."""
    totals = [0.0] * draws.shape[1]
    for sample in draws.tolist():
        for rank, seconds in enumerate(sorted(sample)):
            totals[rank] += seconds
    best, best_rate = 1, 0.0
    for count, total in enumerate(totals, start=1):
        rate = count / (total / len(draws) + overhead)
        if rate > best_rate:
            best, best_rate = count, rate
    return best


@pytest.fixture(scope="module", params=[1, 3], ids=["normal", "mixture"])
def trained(request: pytest.FixtureRequest) -> Bdsgd:
    settings = BdsgdSettings(window=WINDOW, hidden=16, latent=4, parts=request.param)
    table = names.source("nodes16").separate(120)
    assert table is not None
    return FitOnce(train=20, settings=settings, epochs=12).trained(every_row(table))


@pytest.mark.parametrize("overhead", [0.0, 0.5])
def test_an_independent_choice_from_the_same_samples_agrees(
    trained: Bdsgd, overhead: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples: list[np.ndarray] = []
    draw = Components.draw

    def recorded(self: Components, rng: np.random.Generator) -> np.ndarray:
        drawn = draw(self, rng)
        samples.append(drawn)
        return drawn

    monkeypatch.setattr(Components, "draw", recorded)
    table = names.source("nodes16").draw(0, ROUNDS).table
    policy = Policy(trained, WarmUp(Ahead()), sees_all=True)
    run = contest(table, Entrant("bdsgd", policy), late_finish=False, overhead=overhead).run
    assert len(samples) == ROUNDS - WINDOW
    # No run time below the shortest of training is believed in, as docs/bdsgd.md says.
    shortest = trained.model.floor * trained.model.scale
    plain = np.array([chosen_cutoff(np.maximum(one, shortest), overhead) for one in samples])
    assert (plain == run.counts[WINDOW:]).mean() > 0.99

    chosen = np.concatenate([np.full(WINDOW, 16), plain])
    best = clairvoyant(table, overhead).run.throughput(SKIP)
    closes = np.sort(table.seconds, axis=1)[np.arange(ROUNDS), chosen - 1] + overhead
    theirs = float(chosen[SKIP:].sum() / closes[SKIP:].sum())
    assert run.throughput(SKIP) / best == pytest.approx(theirs / best, abs=0.01)
    if overhead == 0.0:
        whole = throughput(table.seconds, clairvoyant_cutoffs(table.seconds), SKIP)
        assert best == pytest.approx(whole, rel=1e-3)
