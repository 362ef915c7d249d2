"""The test suite that every cluster passes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tailcut.clusters.base import Cluster
from tailcut.errors import ParameterError
from tailcut.testing.forecasts import check_forecast
from tailcut.types import FloatArray, Forecast

ROUNDS = 40


def survival_at(forecast: Forecast, position: int, seconds: float) -> tuple[float, float]:
    """Return P(x > seconds) of the worker at a position, and its survival at the last time of the grid."""
    curve = forecast.weights[forecast.groups[position]] @ forecast.survival[:, position]
    knots, values = np.append(0.0, forecast.times), np.append(1.0, curve)
    return float(np.interp(seconds, knots, values)), float(curve[-1])


class ClusterSuite:
    """Tests of a cluster. Override the fixture `cluster`."""

    @pytest.fixture
    def cluster(self) -> Cluster:
        """The cluster under test."""
        raise NotImplementedError("Override the fixture `cluster` to say which cluster is tested.")

    def test_the_same_seed_gives_the_same_sample(self, cluster: Cluster) -> None:
        """Samples of one seed are equal to the last bit, hidden states included."""
        one, other = (cluster.sample(ROUNDS, np.random.default_rng(7)) for _ in range(2))
        assert np.array_equal(one.table.seconds, other.table.seconds, equal_nan=True)
        assert np.array_equal(one.table.observed, other.table.observed)
        assert np.array_equal(one.table.nodes, other.table.nodes)
        assert np.array_equal(one.hidden, other.hidden)

    def test_all_randomness_comes_from_the_generator(self, cluster: Cluster) -> None:
        """A generator that was used before gives another sample."""
        rng, again = np.random.default_rng(8), np.random.default_rng(8)
        rng.random()
        one, other = (cluster.sample(ROUNDS, generator).table.seconds for generator in (rng, again))
        assert not np.array_equal(one, other, equal_nan=True)

    def test_samples_are_tables_of_run_times(self, cluster: Cluster) -> None:
        """Samples have a column per worker, positive where it takes part, and rounds an observed run time."""
        sample = cluster.sample(ROUNDS, np.random.default_rng(9))
        table = sample.table
        assert (table.rounds, table.workers) == (ROUNDS, cluster.workers)
        present = ~np.isnan(table.seconds)
        assert (table.seconds[present] > 0.0).all()
        assert np.isfinite(table.seconds[present]).all()
        assert not (table.observed & ~present).any(), "who takes no part is not observed"
        assert table.observed.any(axis=1).all()
        assert sample.hidden.shape[0] == ROUNDS
        assert np.isfinite(sample.hidden).all()

    def test_workers_nodes_and_overhead_are_told(self, cluster: Cluster) -> None:
        """Workers, nodes and overhead have the right shapes and ranges, and the table has the same nodes."""
        assert cluster.workers >= 1
        assert cluster.nodes().shape == (cluster.workers,)
        assert np.array_equal(cluster.nodes(), cluster.sample(2, np.random.default_rng(0)).table.nodes)
        assert 0.0 <= cluster.overhead < math.inf

    def test_the_state_moves_by_the_clock_or_that_is_refused(self, cluster: Cluster) -> None:
        """One seed gives one path, positive where a worker is there, and a worker is there in every slot."""
        try:
            one, other = (cluster.split(ROUNDS, 4 * ROUNDS, np.random.default_rng(7)) for _ in range(2))
        except ParameterError:
            return
        assert one.noise.shape == (ROUNDS, cluster.workers)
        assert one.scale.shape == (4 * ROUNDS, cluster.workers)
        assert np.array_equal(one.noise, other.noise)
        assert np.array_equal(one.scale, other.scale, equal_nan=True)
        present = ~np.isnan(one.scale)
        assert present.any(axis=1).all()
        assert (one.noise > 0.0).all()
        assert (one.scale[present] > 0.0).all()
        assert np.isfinite(one.scale[present]).all()

    def test_the_law_is_one_of_those_who_take_part(self, cluster: Cluster) -> None:
        """The law of a hidden state is a valid forecast; a cluster without a law raises ParameterError."""
        if not cluster.has_law:
            with pytest.raises(ParameterError):
                cluster.law(cluster.sample(ROUNDS, np.random.default_rng(10)).hidden[0])
            return
        sample = cluster.sample(ROUNDS, np.random.default_rng(10))
        for row in range(0, ROUNDS, 5):
            check_forecast(cluster.law(sample.hidden[row]), sample.table.roster(row).workers)

    def test_the_law_is_what_is_drawn_from(self, cluster: Cluster) -> None:
        """Survival probabilities of drawn run times under their laws are uniform; fails once in a million."""
        if not cluster.has_law:
            return
        rounds = 300
        u = self.transforms(cluster, rounds)
        off = np.abs(np.sort(u) - (np.arange(rounds) + 0.5) / rounds).max()
        # Massart's bound, and the error of curves that are linear between some 128 times.
        assert off < math.sqrt(math.log(2e6) / (2 * rounds)) + 0.01

    def transforms(self, cluster: Cluster, rounds: int) -> FloatArray:
        """Return `(rounds,)` survival probabilities, each of a random worker's run time under its own law."""
        rng = np.random.default_rng(11)
        sample = cluster.sample(rounds, rng)
        arrivals = sample.table.arrivals()
        found = np.empty(rounds)
        for row in range(rounds):
            forecast = cluster.law(sample.hidden[row])
            position = int(rng.integers(len(forecast)))
            value, rest = survival_at(forecast, position, arrivals[row, forecast.workers[position]])
            # Beyond the grid the law gives only the total probability: the value is drawn uniformly.
            found[row] = rest * rng.random() if value <= rest else value
        return found
