"""The factors that groups share, and run times that repeat exactly: what `bayes` learns of both."""

from __future__ import annotations

import numpy as np
import pytest

from tailcut.bounds import best_static
from tailcut.engines.simulated import first_arrivals, replay
from tailcut.forecast import Bayes
from tailcut.forecast.bayes.atoms import Atoms
from tailcut.forecast.bayes.bayes import plain_position
from tailcut.forecast.bayes.belief import BayesBelief
from tailcut.forecast.bayes.pool import smoothed
from tailcut.forecast.bayes.shared import REACH, SHIFTS, Shared, prior
from tailcut.policies import bayes
from tailcut.table import Table
from tailcut.types import NO_NODE, FloatArray, RunTimes

BEGIN = 20


def seen(seconds: FloatArray, observed: bool = True) -> RunTimes:
    n = len(seconds)
    return RunTimes(np.arange(n), seconds, np.full(n, observed), np.full(n, NO_NODE))


def learnt(rounds: FloatArray) -> BayesBelief:
    forecaster = Bayes()
    belief = forecaster.start()
    for row in rounds:
        belief = forecaster.learn(belief, seen(row))
    assert belief is not None
    return belief


def learnt_more(belief: BayesBelief, row: FloatArray) -> BayesBelief:
    after = Bayes().learn(belief, seen(row))
    assert after is not None
    return after


def noise(rounds: int, n: int, spread: float, seed: int = 0) -> FloatArray:
    factors: FloatArray = np.exp(spread * np.random.default_rng(seed).standard_normal((rounds, n)))
    return factors


def of_wait_all(table: Table) -> float:
    rates = [run.throughput(BEGIN) for run in (replay(table, bayes()), first_arrivals(table, table.workers))]
    return rates[0] / rates[1]


def test_a_prior_is_a_law_for_groups_known_and_new() -> None:
    odds = prior(Shared.nothing(), np.array([3, 9]))
    assert odds.shape == (2, len(SHIFTS))
    np.testing.assert_allclose(odds.sum(axis=1), 1.0)
    assert np.argmax(odds[0]) == REACH


def test_work_that_varies_for_all_alike_is_the_factor_s_and_not_the_workers() -> None:
    length = np.random.default_rng(1).gamma(8.0, 1 / 8.0, (60, 1))
    belief = learnt(length * noise(60, 12, 0.03))
    spread = [plain_position(belief, seen(length[k] * noise(1, 12, 0.03, k)[0])).std() for k in range(5)]
    assert max(spread) < 4.0, "cells; the factor is known only after a round, the workers differ by 3 %"
    odds = prior(belief.shared, np.array([0]))[0]
    middle = odds @ SHIFTS
    assert np.sqrt(odds @ (SHIFTS - middle) ** 2) > 8.0, "the next round may be much longer or shorter"


def test_where_nothing_is_shared_the_factor_moves_less_than_the_mean_of_all() -> None:
    rounds = noise(80, 16, 0.3)
    belief, shifts = learnt(rounds[:40]), []
    for row in rounds[40:]:
        belief = learnt_more(belief, row)
        shifts.append(belief.shared.shift_of(np.zeros(1, np.int64))[0])
    means = np.log2(rounds[40:]).mean(axis=1) * 32
    assert np.std(shifts) < np.std(means)


def test_a_step_of_a_thousand_moves_the_unit_and_leaves_the_laws() -> None:
    before = noise(40, 8, 0.1)
    belief = learnt(np.concatenate([before, 1000.0 * noise(3, 8, 0.1, 1)]))
    assert belief.base.cells.unit >= 500.0 * learnt(before).base.cells.unit
    after = plain_position(belief, seen(1000.0 * noise(1, 8, 0.1, 2)[0]))
    home = plain_position(learnt(before), seen(noise(1, 8, 0.1, 2)[0]))
    np.testing.assert_allclose(after, home, atol=6.0)


@pytest.mark.parametrize("n", [6, 32])
def test_bayes_waits_for_all_where_only_the_common_work_varies(n: int) -> None:
    rng = np.random.default_rng(n)
    table = Table.dense(rng.gamma(8.0, 1 / 8.0, (100, 1)) * noise(100, n, 0.03))
    assert of_wait_all(table) > 0.98


def wide(law: str, rounds: int, n: int, seed: int) -> Table:
    """Independent run times with a coefficient of variation of about a half, and much in the lower tail."""
    rng = np.random.default_rng(seed)
    return Table.dense(
        rng.gamma(4.5, 1 / 4.5, (rounds, n)) if law == "gamma" else rng.uniform(0.14, 1.86, (rounds, n))
    )


@pytest.mark.parametrize(("law", "n"), [("gamma", 400), ("uniform", 200)])
def test_many_independent_workers_are_not_taken_for_slow_rounds(law: str, n: int) -> None:
    """A law from few rounds makes noise look like a factor; rounds closed for that show nothing to the contrary."""
    table = wide(law, 50, n, seed=11)
    best = best_static(table, skip=BEGIN).run.throughput(BEGIN)
    assert replay(table, bayes()).throughput(BEGIN) > 0.9 * best


def test_the_peaks_of_a_law_from_few_run_times_are_no_factor() -> None:
    """The mean share of these tables is .83 where laws are not smoothed."""
    shares = []
    for seed in (33, 34):
        table = wide("uniform", 60, 20, seed)
        best = best_static(table, skip=BEGIN).run.throughput(BEGIN)
        shares.append(replay(table, bayes()).throughput(BEGIN) / best)
    assert np.mean(shares) > 0.9


def test_a_smoothed_law_has_the_mass_and_the_middle_of_the_law_and_the_width_of_the_rule() -> None:
    law = np.zeros((2, 400))
    law[0, 180:221] = 1 / 41
    law[1, [100, 300]] = 0.5
    found = smoothed(law, 1000.0)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    cells = np.arange(400)
    np.testing.assert_allclose(found @ cells, law @ cells)
    variance = [float(each[0] @ cells**2 - (each[0] @ cells) ** 2) for each in (law, found)]
    spreads = [41 / 12**0.5, 100.0]
    width = 0.9 * np.median(spreads) * 1000.0**-0.2
    assert variance[1] - variance[0] == pytest.approx(width**2, rel=0.02)
    np.testing.assert_array_equal(smoothed(np.eye(3, 50, 20), 10.0), np.eye(3, 50, 20))


def test_atoms_are_found_and_forgotten() -> None:
    rng = np.random.default_rng(0)
    atoms = Atoms.nothing()
    for _ in range(30):
        atoms = atoms.after(seen(rng.choice([1.0, 2.0], 6)))
    assert atoms.known().tolist() == [1.0, 2.0]
    for _ in range(10):
        atoms = atoms.after(seen(rng.random(6) + 1.0))
    assert atoms.known().size == 0


def test_continuous_run_times_have_no_atoms() -> None:
    rng = np.random.default_rng(0)
    atoms = Atoms.nothing()
    for _ in range(50):
        atoms = atoms.after(seen(rng.random(100)))
    assert atoms.known().size == 0
    assert len(atoms.values) <= 64


def test_a_worker_cut_at_an_atom_has_outlasted_it() -> None:
    belief = learnt(np.random.default_rng(0).choice([1.0, 2.0], (40, 6)))
    came = plain_position(belief, seen(np.ones(6)))
    cut = plain_position(belief, seen(np.ones(6), observed=False))
    assert (np.floor(came) == np.floor(cut)).all()
    assert (cut - np.floor(cut) > 0.999).all()


def test_laws_with_ties_reach_the_best_fixed_cutoff() -> None:
    seconds = np.random.default_rng(3).choice([1.0, 1.5, 4.0], (150, 8), p=[0.7, 0.25, 0.05])
    table = Table.dense(seconds)
    best = best_static(table, skip=BEGIN).run.throughput(BEGIN)
    assert replay(table, bayes()).throughput(BEGIN) > 0.97 * best
