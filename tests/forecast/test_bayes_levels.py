"""The filter over levels, against the same hidden Markov model written out move by move."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from tailcut.forecast.bayes import levels
from tailcut.forecast.bayes.levels import LEAST, WIDTHS, Rates
from tailcut.forecast.trend.cells import COUNT, PER_OCTAVE
from tailcut.types import FloatArray, IntArray

STAY, DIFFUSE, OWN, ANYBODY = range(4)
RATES = Rates(np.array([0.4, 0.25, 0.2, 0.15]), np.array([0.3, 0.2, 0.35, 0.15]))
STEPS = {-2: 1 / 16, -1: 4 / 16, 0: 6 / 16, 1: 4 / 16, 2: 1 / 16}
"""Probability of each step of a level after two blurs, far from the ends."""


@cache
def bell(middle: int, width: int) -> tuple[float, ...]:
    """Return the probability of every cell around a middle cell."""
    spread = WIDTHS[width] / math.log(2.0) * PER_OCTAVE
    raw = [math.exp(-0.5 * ((cell - middle) / spread) ** 2) for cell in range(COUNT)]
    return tuple(value / sum(raw) for value in raw)


@dataclass(frozen=True)
class Seen:
    """The observation of one worker: its cell, or for a cut worker the part of a cell that it exceeds."""

    cell: int
    part: float
    observed: bool

    def agrees(self, cell: int) -> float:
        """Return the probability that a run time in `cell` gives this observation."""
        if self.observed:
            return float(cell == self.cell)
        return float(cell > self.cell) + (1.0 - self.part) * float(cell == self.cell)


def some(law: FloatArray) -> list[tuple[int, float]]:
    return [(int(cell), float(law[cell])) for cell in np.flatnonzero(law)]


class Naive:
    """A brute-force posterior: it adds up all cases that explain the observation, one by one."""

    def __init__(self, rates: Rates, level: FloatArray, own: FloatArray, everybody: FloatArray, seen: Seen):
        self.after: dict[int, float] = {}
        self.moves = [0.0] * 4
        self.kinds = [0.0] * levels.KINDS
        self._rates, self._seen = rates, seen
        excursion = sum(chance * seen.agrees(cell) for cell, chance in some(own))
        for old, chance in some(level):
            self._arrived(STAY, old, chance * rates.moves[STAY], excursion)
            for step, share in STEPS.items():
                self._arrived(DIFFUSE, old + step, chance * rates.moves[DIFFUSE] * share, excursion)
        for move, law in ((OWN, own), (ANYBODY, everybody)):
            for cell, chance in some(law):
                self._landed(move, cell, chance * rates.moves[move] * seen.agrees(cell))
        self.total = sum(self.after.values())

    def _arrived(self, move: int, level: int, chance: float, excursion: float) -> None:
        """Add the case of a level without a jump, then a run time of each kind."""
        for kind in range(len(WIDTHS)):
            near = bell(level, kind)
            likely = sum(near[cell] * self._seen.agrees(cell) for cell in range(COUNT))
            self._add(move, kind, level, chance * self._rates.kinds[kind] * likely)
        self._add(move, len(WIDTHS), level, chance * self._rates.kinds[-1] * excursion)

    def _landed(self, move: int, cell: int, chance: float) -> None:
        """Add the case of a jump to a run time; the level is near it, in any of the widths."""
        if chance == 0.0:
            return
        near_at_all = sum(self._rates.kinds[:-1])
        for width in range(len(WIDTHS)):
            part = self._rates.kinds[width] / near_at_all
            for level, off in enumerate(bell(cell, width)):
                self._add(move, None, level, chance * part * off)

    def _add(self, move: int, kind: int | None, level: int, chance: float) -> None:
        self.after[level] = self.after.get(level, 0.0) + chance
        self.moves[move] += chance
        if kind is not None:
            self.kinds[kind] += chance

    def posterior(self) -> FloatArray:
        out = np.zeros(COUNT)
        for level, chance in self.after.items():
            out[level] += chance / self.total
        return out


def law_on(rng: np.random.Generator, *cells: int) -> FloatArray:
    law = np.zeros(COUNT)
    law[list(cells)] = rng.dirichlet(np.ones(len(cells)))
    return law


ROWS = [
    Seen(120, 0.4, True),  # near the level
    Seen(180, 0.9, True),  # where only the own past is
    Seen(230, 0.1, True),  # where only the law of all workers is
    Seen(122, 0.25, False),  # cut at about the level
    Seen(60, 0.5, False),  # cut so early that nothing is said
    Seen(200, 0.75, False),  # cut beyond its own past
]


def situation() -> tuple[FloatArray, FloatArray, FloatArray]:
    rng = np.random.default_rng(5)
    level = np.stack([law_on(rng, 118, 119, 121, 140, 181) for _ in ROWS])
    own = np.stack([law_on(rng, 117, 120, 123, 180) for _ in ROWS])
    return level, own, law_on(rng, 119, 121, 175, 230, 240)


def updated(pace: float) -> tuple[FloatArray, Rates]:
    level, own, everybody = situation()
    cell, part = np.array([seen.cell for seen in ROWS]), np.array([seen.part for seen in ROWS])
    observed = np.array([seen.observed for seen in ROWS])
    return levels.updated(RATES, level, own, everybody, cell, part, observed, pace)


@pytest.fixture(scope="module")
def naive() -> list[Naive]:
    level, own, everybody = situation()
    return [Naive(RATES, level[r], own[r], everybody, seen) for r, seen in enumerate(ROWS)]


@pytest.mark.parametrize("row", range(len(ROWS)))
def test_the_belief_after_a_round_is_the_posterior(naive: list[Naive], row: int) -> None:
    after, _ = updated(pace=0.1)
    assert after[row].sum() == pytest.approx(1.0)
    np.testing.assert_allclose(after[row], naive[row].posterior(), atol=1e-12)


@pytest.mark.parametrize("pace", [0.05, 1.0])
def test_rates_move_towards_the_mean_responsibilities(naive: list[Naive], pace: float) -> None:
    moves = np.mean([np.array(one.moves) / one.total for one in naive], axis=0)
    kinds = np.mean([np.array(one.kinds) / one.total for one in naive], axis=0)
    assert moves.sum() == pytest.approx(1.0)
    assert kinds.sum() == pytest.approx(moves[:2].sum())  # a jump says nothing about kinds
    _, rates = updated(pace)
    expected = RATES.moves + pace * (moves - RATES.moves)
    np.testing.assert_allclose(rates.moves, expected / expected.sum(), atol=1e-12)
    expected = RATES.kinds + pace * (kinds - kinds.sum() * RATES.kinds)
    np.testing.assert_allclose(rates.kinds, expected / expected.sum(), atol=1e-12)


def test_the_predictive_is_the_chance_of_every_cell() -> None:
    """The same loops, asked cell by cell how likely it is; of cells far from everything, a few."""
    level, own, everybody = situation()
    law = levels.predictive(RATES, level, own, everybody)
    np.testing.assert_allclose(law.sum(axis=1), 1.0)
    for cell in (100, 117, 118, 120, 141, 175, 182, 230, 300):
        chance = Naive(RATES, level[0], own[0], everybody, Seen(cell, 0.0, True)).total
        assert law[0, cell] == pytest.approx(chance, abs=1e-12)


def test_the_chance_of_being_cut_is_the_predictive_beyond_the_cut() -> None:
    level, own, everybody = situation()
    law = levels.predictive(RATES, level, own, everybody)
    for cell, part in ((90, 0.0), (121, 0.3), (199, 0.75)):
        chance = Naive(RATES, level[2], own[2], everybody, Seen(cell, part, False)).total
        assert law[2, cell:].sum() - part * law[2, cell] == pytest.approx(chance, abs=1e-12)


def test_rates_sum_to_one_and_never_vanish() -> None:
    rng = np.random.default_rng(0)
    rates, level = Rates.first(), rng.dirichlet(np.ones(COUNT), size=4)
    own, everybody = rng.dirichlet(np.ones(COUNT), size=4), np.full(COUNT, 1 / COUNT)
    for _ in range(200):
        cell = np.full(4, 150)
        level, rates = levels.updated(
            rates, level, own, everybody, cell, np.zeros(4), np.ones(4, np.bool_), pace=0.5
        )
        for some_rates in (rates.moves, rates.kinds):
            assert some_rates.sum() == pytest.approx(1.0)
            assert (some_rates >= LEAST / (1.0 + 4 * LEAST)).all()
        np.testing.assert_allclose(level.sum(axis=1), 1.0)


def test_what_nobody_can_explain_leaves_a_belief_alone() -> None:
    point = np.zeros((1, COUNT))
    point[0, 10] = 1.0
    after, rates = levels.updated(
        RATES, point, point, point[0], np.array([380]), np.zeros(1), np.ones(1, np.bool_), pace=0.1
    )
    np.testing.assert_array_equal(after, point)
    assert np.isfinite(rates.moves).all()
    assert np.isfinite(rates.kinds).all()


def drawn(rng: np.random.Generator, reached: FloatArray) -> IntArray:
    """A cell from each row's distribution function."""
    return np.asarray((reached < rng.random((len(reached), 1))).sum(axis=1))


TRUE = Rates(np.array([0.7, 0.0, 0.1, 0.2]), np.array([0.6, 0.0, 0.3, 0.1]))


def followed(start: Rates, limit: int, rounds: int, n: int = 200) -> tuple[FloatArray, FloatArray]:
    """Mean rates over the second half of a run on the model's own run times at rates `TRUE`, cut at `limit`."""
    rng = np.random.default_rng(11)
    own, everybody = np.zeros((n, COUNT)), np.zeros(COUNT)
    own[:, 100:110] = 0.1
    everybody[140:200] = 1 / 60
    near = np.cumsum(levels.near()[[0, 2]], axis=2)
    level = rng.integers(140, 200, n)
    rates, belief, found = start, np.tile(everybody, (n, 1)), []
    for t in range(rounds):
        move, kind = rng.choice(4, n, p=TRUE.moves), rng.choice(3, n, p=TRUE.kinds[[0, 2, 3]])
        excursion = rng.integers(100, 110, n)
        held = np.where(kind == 2, excursion, drawn(rng, near[np.minimum(kind, 1), level]))
        cell = np.where(move == OWN, excursion, np.where(move == ANYBODY, rng.integers(140, 200, n), held))
        landing = drawn(rng, near[(rng.random(n) < 1 / 3).astype(int), cell])
        level = np.where(move >= OWN, landing, level)
        belief, rates = levels.updated(
            rates, belief, own, everybody, np.minimum(cell, limit), np.zeros(n), cell < limit, pace=0.05
        )
        if t >= rounds // 2:
            found.append(np.concatenate([rates.moves, rates.kinds]))
    moves, kinds = np.split(np.mean(found, axis=0), 2)
    return moves, kinds


@pytest.mark.parametrize("limit", [COUNT, 165])
def test_true_rates_stay_where_they_are(limit: int) -> None:
    """The rates stay true with all workers observed, and with a part of them cut in every round."""
    moves, kinds = followed(TRUE, limit, rounds=200)
    np.testing.assert_allclose(moves, TRUE.moves, atol=0.015)
    np.testing.assert_allclose(kinds, TRUE.kinds, atol=0.015)


@pytest.mark.parametrize("limit", [COUNT, 165])
def test_rates_are_recovered_from_any_start(limit: int) -> None:
    moves, kinds = followed(Rates.first(), limit, rounds=600)
    np.testing.assert_allclose(moves, TRUE.moves, atol=0.075)
    np.testing.assert_allclose(kinds, TRUE.kinds, atol=0.075)
