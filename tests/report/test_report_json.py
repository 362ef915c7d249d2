from __future__ import annotations

import json
import math

import numpy as np
from report_facts import MakePolicy, MakeSource

from tailcut.report import as_json
from tailcut.study.facts import Comparison, SourceFacts, Spread

KEYS = [
    "source",
    "workers",
    "rounds",
    "warmup",
    "seeds",
    "late",
    "states",
    "overhead",
    "policy",
    "kind",
    "throughput",
    "throughput_worst",
    "throughput_best",
    "throughput_low",
    "throughput_high",
    "of_clairvoyant",
    "of_clairvoyant_worst",
    "of_clairvoyant_best",
    "of_clairvoyant_low",
    "of_clairvoyant_high",
    "of_clairvoyant_all",
    "of_informed",
    "of_best_static",
    "of_best_deadline",
    "table_score",
    "table_score_worst",
    "table_score_best",
    "table_score_low",
    "table_score_high",
    "clock_score",
    "clock_score_worst",
    "clock_score_best",
    "clock_score_low",
    "clock_score_high",
    "mean_cutoff",
    "idle",
    "idle_before",
    "given_back",
    "least_served",
    "acceptance_by_decile",
    "decision_ms_p50",
    "decision_ms_p99",
    "round_ms",
    "weights",
    "notes",
]


def test_one_object_per_source_and_policy_with_all_keys(make_source: MakeSource) -> None:
    rows = as_json(Comparison("c", (make_source(), make_source(source="b.csv"))))
    assert [(row["source"], row["policy"]) for row in rows[5:7]] == [
        ("trace.csv", "best-deadline"),
        ("b.csv", "wait-all"),
    ]
    assert len(rows) == 12
    assert all(list(row) == KEYS for row in rows)


def test_values_are_those_of_the_facts(make_source: MakeSource) -> None:
    row = as_json(Comparison("c", (make_source(notes=("One.", "Two.")),)))[1]
    assert (row["policy"], row["kind"], row["workers"], row["rounds"]) == ("stopping", "policy", 4, 30)
    assert (row["throughput"], row["throughput_worst"], row["throughput_best"]) == (9.5, 9.4, 9.6)
    assert row["of_clairvoyant"] == 0.95
    assert math.isclose(row["given_back"], 0.24)
    assert len(row["acceptance_by_decile"]) == 10
    assert row["notes"] == ["One.", "Two."]


def test_what_is_unknown_or_not_finite_is_null(make_source: MakeSource, make_policy: MakePolicy) -> None:
    facts = make_policy(
        "p",
        1.0,
        throughput=Spread(math.inf, -math.inf, math.nan),
        of_informed=None,
        idle=math.nan,
        deciles=(math.nan,) * 10,
        decision_ms_p50=None,
    )
    (row,) = as_json(Comparison("c", (make_source((facts,)),)))
    nothing = ["throughput", "throughput_worst", "throughput_best", "of_informed", "idle", "given_back"]
    assert [row[key] for key in [*nothing, "decision_ms_p50"]] == [None] * 7
    assert row["acceptance_by_decile"] == [None] * 10


def test_when_late_workers_finish_the_clairvoyant_is_no_bound(make_source: MakeSource) -> None:
    row = as_json(Comparison("c", (make_source(late="finish"),)))[1]
    assert row["of_clairvoyant"] is row["of_clairvoyant_worst"] is row["of_clairvoyant_best"] is None
    assert row["of_clairvoyant_all"] is None
    assert row["of_abandon_bound"] == 0.95
    assert set(KEYS) <= set(row)


def test_numpy_numbers_become_plain_ones(make_source: MakeSource, make_policy: MakePolicy) -> None:
    facts = make_policy(
        "p", 1.0, mean_cutoff=np.float64(3.5), idle=np.float32(0.5), deciles=tuple(np.ones(10))
    )
    rows = as_json(Comparison("c", (make_source((facts,), workers=np.int64(4)),)))
    assert json.loads(json.dumps(rows, allow_nan=False))[0]["mean_cutoff"] == 3.5


def test_odd_sources_give_valid_json(odd_source: SourceFacts) -> None:
    rows = as_json(Comparison("c", (odd_source,)))
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
