"""The expected arrivals of an open round whose groups share a factor, against direct formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tailcut.outlook import Outlook
from tailcut.rules import Opening, Stopping
from tailcut.shared_outlook import SharedOutlook, outlook_of
from tailcut.shifts import Evidence, few_of, honest, positions, some_of, survival_of
from tailcut.types import FloatArray, Forecast, Roster, SharedLaws

CELLS, PER_OCTAVE, REACH, ORIGIN = 256, 32, 96, 1 / 16
ONE_SECOND = 4 * PER_OCTAVE


def bell(middle: float, spread: float) -> FloatArray:
    raw = np.exp(-0.5 * ((np.arange(CELLS) - middle) / spread) ** 2)
    return raw / raw.sum()


def forecast_of(
    n: int,
    spread: float = 2.0,
    prior: FloatArray | None = None,
    atoms: tuple[float, ...] = (),
    slow: tuple[int, int] = (0, 0),
) -> Forecast:
    """n workers about 1 second, the last `slow[0]` of them `slow[1]` cells later; the factor is certain by default."""
    middles = np.full(n, ONE_SECOND)
    middles[n - slow[0] :] += slow[1]
    law, beyond = honest(np.stack([bell(middle, spread) for middle in middles]), middles, n)
    if prior is None:
        prior = np.zeros(2 * REACH + 1)
        prior[REACH] = 1.0
    laws = SharedLaws(law, beyond, prior[None], ORIGIN, PER_OCTAVE, np.array(atoms))
    curves = np.ones((1, n, 1))
    return Forecast(
        np.arange(n), np.array([1.0]), curves, np.ones((1, 1)), np.zeros(n, np.int64), shared=laws
    )


def shared(*args: Any, **kwargs: Any) -> SharedOutlook:
    outlook = outlook_of(forecast_of(*args, **kwargs))
    assert isinstance(outlook, SharedOutlook)
    return outlook


def wide() -> FloatArray:
    raw = np.exp(-0.5 * (np.arange(-REACH, REACH + 1) / 20.0) ** 2)
    return raw / raw.sum()


def shift_of(outlook: SharedOutlook, elapsed: float, arrivals: FloatArray) -> float:
    odds = outlook.odds(elapsed, arrivals, np.zeros(len(arrivals), np.bool_))
    return float(odds[0] @ np.arange(-REACH, REACH + 1))


def test_honest_laws_are_laws_with_mass_everywhere() -> None:
    law, beyond = honest(bell(100, 3.0)[None], np.array([100]), 50)
    assert (law > 0.0).all()
    assert law.sum() + beyond[0] == pytest.approx(1.0)
    assert survival_of(law, beyond)[0, 0] == pytest.approx(1.0 - law[0, 0])


def test_early_freaks_are_as_rare_in_large_rounds_as_in_small_ones() -> None:
    early = [n * honest(bell(100, 3.0)[None], np.array([100]), n)[0][0, :60].sum() for n in (2, 2000)]
    assert early[0] == pytest.approx(early[1], rel=1e-6)


def test_shifts_are_judged_by_bayes_rule() -> None:
    """The evidence equals the sum over workers, written out for one shift."""
    law, beyond = honest(np.stack([bell(100, 3.0), bell(120, 5.0)]), np.array([100, 120]), 2)
    survival = survival_of(law, beyond)
    evidence = Evidence(law, survival, np.zeros(2, np.int64), 1, REACH)
    came = evidence.of_arrivals(np.array([0]), np.array([107.5]))[0]
    assert came[REACH + 5] == pytest.approx(np.log(law[0, 102]))
    cut = evidence.of_bounds(np.array([1]), np.array([130.0]))[0]
    assert cut[REACH + 5] == pytest.approx(np.log(survival[1, 124]))
    both = evidence.of_bounds(np.array([0, 1]), np.array([130.0, 130.0]))[0]
    assert both[REACH] == pytest.approx(np.log(survival[0, 129]) + np.log(survival[1, 129]))


def test_with_a_certain_factor_it_agrees_with_the_scenarios() -> None:
    outlook = shared(4)
    law, beyond = honest(np.tile(bell(ONE_SECOND, 2.0), (4, 1)), np.full(4, ONE_SECOND), 4)
    times = ORIGIN * np.exp2((np.arange(CELLS) + 1) / PER_OCTAVE)
    plain = Outlook(Forecast.independent(np.arange(4), times, survival_of(law, beyond)))
    arrivals, gone = np.array([0.97, np.inf, np.inf, np.inf]), np.array([False, False, False, True])
    elapsed = float(times[ONE_SECOND - 1])
    one, other = outlook.future(elapsed, arrivals, gone, True), plain.future(elapsed, arrivals, gone, True)
    for k in range(40):
        at = int(np.argmin(np.abs(other.times - one.times[k])))
        assert one.times[k] == pytest.approx(other.times[at])
        assert one.arrivals[k] == pytest.approx(other.arrivals[at], abs=1e-9)
        assert one.variance[k] == pytest.approx(other.variance[at], abs=1e-9)
        assert one.waiting[k] == pytest.approx(other.waiting[at], abs=1e-9)


@pytest.mark.parametrize("n", [2, 8, 128, 4000])
def test_one_arrival_among_many_does_not_make_the_others_slow(n: int) -> None:
    """The round is 30 % longer than usual, so all are silent; when the first comes the others are at hand."""
    outlook = shared(n, prior=wide())
    arrivals = np.full(n, np.inf)
    arrivals[0] = 1.25
    ahead = outlook.future(1.25, arrivals, np.zeros(n, np.bool_))
    soon = ahead.arrivals[np.searchsorted(ahead.times, 1.55)]
    assert soon > 0.7 * (n - 1)


def test_silence_moves_the_factor_by_no_more_than_it_must() -> None:
    outlook = shared(100, prior=wide())
    nobody = np.full(100, np.inf)
    assert abs(shift_of(outlook, 0.5, nobody)) < 5.0
    late = shift_of(outlook, 1.5, nobody)
    assert 0.585 * PER_OCTAVE < late < 0.585 * PER_OCTAVE + 20.0


@pytest.mark.parametrize("elapsed", [0.0, 1e-6, 1.0, 50.0, 1e6])
def test_the_future_is_never_empty(elapsed: float) -> None:
    ahead = shared(3, prior=wide()).future(elapsed, np.full(3, np.inf), np.zeros(3, np.bool_))
    assert len(ahead.times) > 10
    assert (ahead.times > elapsed).all()
    assert (np.diff(ahead.times) > 0.0).all()
    assert (np.diff(ahead.arrivals) >= -1e-12).all()
    assert (np.diff(ahead.waiting) >= 0.0).all()
    assert ahead.arrivals[-1] > 1.0


def test_long_after_all_are_overdue_arrivals_are_expected_as_often_as_the_tail_says() -> None:
    """k workers after τ seconds: at a rate of about .9·k/τ."""
    ahead = shared(5).future(4000.0, np.full(5, np.inf), np.zeros(5, np.bool_))
    rate = ahead.arrivals[2] / (ahead.times[2] - 4000.0)
    assert rate == pytest.approx(0.92 * 5 / 4000.0, rel=0.1)


def test_between_two_atoms_nobody_comes() -> None:
    atoms = (1.0, 2.0)
    outlook = shared(4, spread=1.0, atoms=atoms)
    nobody, gone = np.full(4, np.inf), np.zeros(4, np.bool_)
    ahead = outlook.future(0.0, nobody, gone)
    at = int(np.flatnonzero(ahead.times == 1.0)[0])
    assert ahead.arrivals[at] > 3.9
    assert (ahead.arrivals[:at] < 0.1).all()
    assert ahead.waiting[at] == pytest.approx(1.0, abs=0.03)
    after = outlook.future(1.0, np.array([1.0, 1.0, 1.0, np.inf]), gone)
    assert after.times[0] > 1.0
    assert after.arrivals[0] < 0.3


@pytest.mark.parametrize("prior", [None, wide()], ids=["certain", "wide"])
def test_nobody_has_come_with_the_product_of_all_chances_to_be_out(prior: FloatArray | None) -> None:
    outlook = shared(4, prior=prior, slow=(3, 75))
    ahead = outlook.usual()
    assert ahead.nobody is not None
    if prior is None:
        # The survival of the fast worker, since the others are sure to be out: not that of four alike.
        law, beyond = honest(bell(ONE_SECOND, 2.0)[None], np.array([ONE_SECOND]), 4)
        cells = np.round(positions(ahead.times, ORIGIN, PER_OCTAVE)).astype(int) - 1
        near = (cells > ONE_SECOND - 8) & (cells < ONE_SECOND + 8)
        assert near.sum() > 10
        expected = survival_of(law, beyond)[0, cells[near]]
        np.testing.assert_allclose(ahead.nobody[near], expected, rtol=0.02, atol=1e-4)
    else:
        assert (np.diff(ahead.nobody) <= 1e-12).all()
        assert ahead.nobody[0] > 0.9
        assert ahead.nobody[-1] < 0.01


def test_a_second_is_worth_what_the_fast_one_of_four_makes() -> None:
    """The fast worker comes after 1 s, the others after 5: closing makes 1 gradient a second, waiting 0.8."""
    rule = Stopping()
    plan = rule.plan(rule.start(), Opening(Roster.of(4), forecast_of(4, slow=(3, 75))))
    assert plan.price == pytest.approx(1.0, rel=0.02)


def test_few_shifts_represent_all() -> None:
    law = wide()
    shifts, weights = few_of(law, 24)
    assert len(shifts) <= 24
    assert weights.sum() == pytest.approx(1.0)
    assert abs(weights @ shifts) < 0.5
    assert np.sqrt(weights @ shifts**2) == pytest.approx(20.0, rel=0.05)
    certain = np.zeros(9)
    certain[6] = 1.0
    assert few_of(certain, 24)[0].tolist() == [2]


def test_every_group_is_told_by_some_of_its_workers() -> None:
    groups = np.repeat([0, 1, 2], [3000, 10, 3])
    some = some_of(groups, 512)
    assert set(groups[some]) == {0, 1, 2}
    assert len(some) < 600
    assert some_of(np.zeros(7, np.int64), 512).tolist() == list(range(7))


def test_positions_are_free_of_units() -> None:
    seconds = np.array([0.3, 1.7])
    assert np.array_equal(positions(seconds, 0.25, 32), positions(seconds * 2**20, 2.0**18, 32))
