"""The weights of a blended forecast's parts are in every round's record, in the run and in the figures."""

from __future__ import annotations

import numpy as np

from tailcut import names
from tailcut.engines.simulated import replay
from tailcut.report import as_json
from tailcut.study.compare import Setting, compare
from tailcut.study.facts import Comparison

PARTS = ["own", "level", "shape"]


def test_weights_of_the_variants_add_up_in_every_round() -> None:
    run = replay(names.source("demo8").draw(0, 40).table, names.entrant("bayes").policy)
    assert list(run.weights) == [*PARTS, "deep"]
    variants = np.sum([run.weights[name] for name in PARTS], axis=0)
    forecast = ~np.isnan(variants)
    assert forecast.sum() >= 38
    np.testing.assert_allclose(variants[forecast], 1.0)
    assert ((run.weights["deep"][forecast] >= 0.0) & (run.weights["deep"][forecast] <= 1.0)).all()


def test_a_forecast_of_one_piece_has_no_weights() -> None:
    run = replay(names.source("demo8").draw(0, 20).table, names.entrant("stopping").policy)
    assert run.weights == {}


def test_their_means_are_in_the_figures() -> None:
    entrants = [names.entrant("bayes:deep=false"), names.entrant("backup")]
    facts = compare(names.source("demo8"), entrants, Setting(seeds=2, rounds=30))
    rows = {row["policy"]: row for row in as_json(Comparison("c", (facts,)))}
    assert list(rows["bayes:deep=false"]["weights"]) == PARTS
    assert abs(sum(rows["bayes:deep=false"]["weights"].values()) - 1.0) < 1e-9
    assert rows["backup"]["weights"] == {}
