"""Clusters whose state moves by the clock: the same draw as by rounds, and a path that goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import pytest

from tailcut.clusters import PRESETS, Cluster, Sample, fail_at, random_cluster, slow_at
from tailcut.errors import ParameterError
from tailcut.table import Table
from tailcut.types import FloatArray, Forecast

ROUNDS, SLOTS = 30, 480


@pytest.mark.parametrize(
    "name", ["xeon158", "nodes16", "groups-in-turn", "persistent", "fixed-mix", "drift", "demo8", "eager"]
)
def test_the_first_steps_of_a_path_are_those_of_the_table(name: str) -> None:
    cluster = PRESETS[name].factory()
    table = cluster.sample(ROUNDS, np.random.default_rng(5)).table
    split = cluster.split(ROUNDS, SLOTS, np.random.default_rng(5))
    assert split.scale.shape == (SLOTS, cluster.workers)
    np.testing.assert_allclose(split.by_rounds(table.nodes, name).seconds, table.seconds, rtol=1e-12)


@pytest.mark.parametrize("name", PRESETS)
def test_every_named_cluster_says_how_its_state_moves(name: str) -> None:
    cluster = PRESETS[name].factory()
    if cluster.workers > 1000:
        cluster = PRESETS[name].factory(n=64)
    one, other = (cluster.split(ROUNDS, SLOTS, np.random.default_rng(6)) for _ in range(2))
    assert one.noise.tobytes() == other.noise.tobytes()
    assert one.scale.tobytes() == other.scale.tobytes()
    assert (one.noise > 0).all()
    assert (one.scale[~np.isnan(one.scale)] > 0).all()
    assert ((~np.isnan(one.scale)).sum(axis=1) >= 2).all()


def test_a_longer_path_begins_as_a_shorter_one() -> None:
    clusters = [PRESETS[name].factory() for name in ("nodes16", "persistent")]
    for cluster in [*clusters, *(random_cluster(seed=seed, n=9) for seed in range(5))]:
        short, long = (cluster.split(ROUNDS, slots, np.random.default_rng(7)) for slots in (ROUNDS, SLOTS))
        assert short.noise.tobytes() == long.noise.tobytes()
        np.testing.assert_array_equal(short.scale, long.scale[:ROUNDS])


def test_a_long_path_has_the_long_run_of_its_chain() -> None:
    cluster = PRESETS["nodes16"].factory(sd=0.0, p_slow=0.05, p_recover=0.1)
    slow = cluster.split(2, 40_000, np.random.default_rng(8)).scale[:, ::4] > 1
    assert slow.mean() == pytest.approx(1 / 3, abs=0.02)
    assert (slow[1:] & ~slow[:-1]).sum() / (~slow[:-1]).sum() == pytest.approx(0.05, abs=0.005)


def test_a_switch_changes_the_law_of_work_that_begins_from_its_slot_on() -> None:
    cluster = PRESETS["trap10"].factory(at=4, sigma=1e-9)
    times = cluster.split(6, 96, np.random.default_rng(0)).by_clock(cluster.nodes(), "trap10", 0.0)
    assert times.at(3, 3.9 * times.step)[0] == pytest.approx(np.ones(10))
    assert times.at(3, 4.0 * times.step)[0] == pytest.approx([3.0] * 8 + [1.0] * 2)


def test_scripted_trouble_goes_by_slots() -> None:
    base = PRESETS["demo8"].factory(p_slow=1e-9, sigma=1e-9)
    slowed = slow_at(base, worker=2, round=3, factor=4.0, rounds=2).split(9, 90, np.random.default_rng(0))
    assert (slowed.scale[:, 2] == 4.0).nonzero()[0].tolist() == [3, 4]
    gone = fail_at(base, worker=2, round=3, back=5).split(9, 90, np.random.default_rng(0))
    assert np.isnan(gone.scale[:, 2]).nonzero()[0].tolist() == [3, 4]


@final
@dataclass(frozen=True, slots=True)
class _Silent(Cluster):
    """A cluster with a state that moves, and no word on how."""

    overhead: float = 0.0

    @property
    def workers(self) -> int:
        return 2

    def sample(self, rounds: int, rng: np.random.Generator) -> Sample:
        return Sample(
            Table.dense(rng.random((rounds, 2)) + 1.0), np.arange(rounds, dtype=np.float64)[:, None]
        )

    def law(self, hidden: FloatArray) -> Forecast:
        raise NotImplementedError


def test_a_cluster_that_does_not_say_how_its_state_moves_is_refused_in_a_sentence() -> None:
    with pytest.raises(ParameterError, match="_Silent does not say how its state moves by the clock"):
        _Silent().split(5, 80, np.random.default_rng(0))
