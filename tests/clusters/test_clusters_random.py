"""A random cluster is decided by its seed, and its ingredients are as likely and as strong as they say."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from tailcut import names
from tailcut.clusters import LogNormal, RandomCluster, Recipe, random_cluster, recipe_of
from tailcut.clusters.random.choose import CHANCES
from tailcut.clusters.random.noise import Content, Sleepers, Spikes
from tailcut.clusters.random.states import Absences, SlowNodes, Spells, Step, Swing
from tailcut.errors import ParameterError
from tailcut.study.source import Sampled
from tailcut.types import NO_NODE, FloatArray

PLAIN = Recipe(0, 6, 2.0, LogNormal(1.0, 1e-6), "constant")
SEEDS = range(2000)


def drawn(recipe: Recipe, rounds: int = 400, seed: int = 0) -> FloatArray:
    return RandomCluster(recipe).sample(rounds, np.random.default_rng(seed)).table.seconds


def test_the_same_seed_is_the_same_cluster_to_the_last_byte() -> None:
    for seed in range(20):
        assert recipe_of(seed) == recipe_of(seed)
        one, other = (random_cluster(seed=seed, n=9).sample(30, np.random.default_rng(4)) for _ in range(2))
        assert one.table.seconds.tobytes() == other.table.seconds.tobytes()
    assert len({recipe_of(seed) for seed in range(200)}) == 200


def test_ingredients_are_as_frequent_as_stated() -> None:
    recipes = [recipe_of(seed, n=40) for seed in SEEDS]
    for name, chance in CHANCES.items():
        share = np.mean([bool(getattr(recipe, name)) for recipe in recipes])
        # Five standard errors.
        assert share == pytest.approx(chance, abs=5 * math.sqrt(chance * (1 - chance) / len(SEEDS))), name
    ingredients = Counter(len(recipe.extras) for recipe in recipes)
    assert sum(ingredients[k] for k in (2, 3, 4)) > len(SEEDS) / 2


def test_sizes_go_from_2_to_2000_with_many_small_ones() -> None:
    sizes = np.array([recipe_of(seed).n for seed in SEEDS])
    assert sizes.min() == 2
    assert 1500 < sizes.max() <= 2000
    assert 0.4 < np.mean(sizes <= 8) < 0.6
    assert 0.2 < np.mean(sizes > 100) < 0.4


def test_another_number_of_workers_changes_no_ingredient_that_does_not_depend_on_it() -> None:
    for seed in range(50):
        one, other = recipe_of(seed, n=20), recipe_of(seed, n=200)
        assert (one.law, one.content, one.spikes, one.swing, one.step, one.tick) == (
            other.law,
            other.content,
            other.spikes,
            other.swing,
            other.step,
            other.tick,
        )


@pytest.mark.parametrize("seed", range(60))
def test_run_times_are_positive_and_two_workers_are_present_in_every_round(seed: int) -> None:
    cluster = random_cluster(seed=seed)
    table = cluster.sample(40, np.random.default_rng(1)).table
    present = ~np.isnan(table.seconds)
    assert cluster.workers >= 2
    assert (present.sum(axis=1) >= 2).all()
    assert (table.seconds[present] > 0).all()
    assert np.isfinite(table.seconds[present]).all()
    assert np.array_equal(table.observed, present)


def test_no_ingredient_leaves_the_law_around_the_unit() -> None:
    assert drawn(PLAIN) == pytest.approx(2.0, rel=1e-4)


def test_fixed_levels_belong_to_the_cluster() -> None:
    x = drawn(replace(PLAIN, levels=0.5), seed=1)
    assert x.std(axis=0) == pytest.approx(0.0, abs=1e-3)
    assert x[0].std() > 0.1
    assert drawn(replace(PLAIN, levels=0.5), seed=2)[0] == pytest.approx(x[0], rel=1e-4)


@pytest.mark.parametrize("kind", ["gamma", "log-normal"])
def test_content_is_shared_by_all_workers_and_may_be_autocorrelated(kind: str) -> None:
    logs = []
    for memory in (0.0, 0.9):
        x = drawn(replace(PLAIN, content=Content(kind, 0.4, memory)), rounds=5000)  # type: ignore[arg-type]
        assert np.ptp(x, axis=1) == pytest.approx(0.0, abs=1e-3 * x.max())
        z = np.log(x[:, 0])
        assert z.std() == pytest.approx(0.4, rel=0.2)
        logs.append(np.corrcoef(z[1:], z[:-1])[0, 1])
    assert logs == pytest.approx([0.0, 0.9], abs=0.08)


def test_spikes_come_as_often_and_are_as_large_as_stated() -> None:
    x = drawn(replace(PLAIN, spikes=Spikes(0.1, 5.0)), rounds=4000) / 2.0
    assert np.mean(x > 2) == pytest.approx(0.1, abs=0.01)
    assert x[x > 2] == pytest.approx(5.0, rel=1e-3)
    tailed = drawn(replace(PLAIN, spikes=Spikes(0.1, 2.0, alpha=2.0)), rounds=4000) / 2.0
    beyond = tailed[tailed > 1.5]
    assert beyond.min() > 1.99
    assert np.mean(beyond > 4) == pytest.approx(0.25, abs=0.03)


def test_exactly_so_many_sleep_in_each_round() -> None:
    x = drawn(replace(PLAIN, sleepers=Sleepers(2, 3.0)))
    assert ((x > 4.9).sum(axis=1) == 2).all()
    assert ((x < 2.1).sum(axis=1) == 4).all()


def test_workers_of_a_slow_node_are_slow_together_and_nodes_are_named_if_they_are() -> None:
    nodes = SlowNodes(3, 0.1, 0.2, 4.0, named=True)
    cluster = RandomCluster(replace(PLAIN, nodes=nodes))
    assert cluster.nodes().tolist() == [0, 0, 1, 1, 2, 2]
    table = cluster.sample(3000, np.random.default_rng(0)).table
    assert np.array_equal(table.nodes, cluster.nodes())
    slow = table.seconds > 4
    assert np.array_equal(slow[:, 0::2], slow[:, 1::2])
    assert slow.mean() == pytest.approx(1 / 3, abs=0.06)
    unnamed = RandomCluster(replace(PLAIN, nodes=replace(nodes, named=False)))
    assert (unnamed.nodes() == NO_NODE).all()


def test_spells_swing_step_and_absences_last() -> None:
    spells = drawn(replace(PLAIN, spells=Spells(0.2, 50.0, 3.0)), rounds=5000) > 4
    assert spells.mean() == pytest.approx(0.2, abs=0.05)
    assert (spells[1:] != spells[:-1]).mean() < 0.02
    swing = drawn(replace(PLAIN, swing=Swing(3.0, 100, "sine")), rounds=151)[:, 0] / 2
    assert swing[[0, 50, 100, 150]] == pytest.approx([1, 3, 1, 3], rel=1e-3)
    step = drawn(replace(PLAIN, step=Step(10, 0.5, 3.0)), rounds=20) > 4
    assert not step[:10].any()
    assert (step[10:].sum(axis=1) == 3).all()
    assert (step[10:] == step[10]).all()
    absent = np.isnan(drawn(replace(PLAIN, absences=Absences(0.05, 0.1, safe=2)), rounds=4000))
    assert not absent[:, :2].any()
    assert not absent[0].any()
    assert absent[:, 2:].mean() == pytest.approx(1 / 3, abs=0.06)


def test_a_coarse_clock_shows_multiples_of_its_tick() -> None:
    x = drawn(replace(PLAIN, law=LogNormal(1.0, 0.3), tick=0.25)) / 0.25
    assert x == pytest.approx(np.round(x), abs=1e-9)
    assert x.min() >= 1


def test_the_name_takes_a_seed_and_parameters_that_override_it() -> None:
    made = names.source("random:seed=6:n=12:overhead=0.5:nodes=named")
    assert isinstance(made, Sampled)
    assert isinstance(made.cluster, RandomCluster)
    assert made.cluster.workers == 12
    assert made.cluster.overhead == 0.5
    assert made.cluster.recipe.nodes is not None
    assert made.cluster.recipe.nodes.named
    assert made.about.startswith("12 workers, ")
    assert not made.has_law
    assert made.draw(0, 5).law is None


def test_impossible_parameters_and_the_unknown_law_are_refused_in_a_sentence() -> None:
    with pytest.raises(ParameterError, match="seed must be a whole number >= 0, but got -1"):
        random_cluster(seed=-1)
    with pytest.raises(ParameterError, match="n must be a whole number >= 2, but got 1"):
        random_cluster(n=1)
    with pytest.raises(ParameterError, match="nodes must be"):
        random_cluster(nodes="some")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="The law of a random cluster is not known"):
        random_cluster().law(np.empty(0))
