"""Conditions of a claim: better on average and on two thirds of the seeds, compared seed by seed."""

from __future__ import annotations

import math

import pytest

from tailcut.study.reproduce.findings import Claim, Finding, Line, Plot, outcome, plain
from tailcut.study.reproduce.judge import ACCURACY, RATE, SECONDS, Measure, compared, grows, mean


@pytest.mark.parametrize(
    ("ours", "theirs", "holds"),
    [
        ([1.0, 1.0, 1.0], [2.0, 2.0, 2.0], True),
        ([1.0, 1.0, 2.5], [2.0, 2.0, 2.0], True),  # two of three are enough
        ([1.9, 2.1, 2.1], [9.0, 2.0, 2.0], False),  # the mean alone is not
        ([1.0, 1.0, 9.0], [2.0, 2.0, 2.0], False),  # nor are most seeds
        ([2.0, 2.0, 2.0], [2.0, 2.0, 2.0], False),
        ([1.0, 1.0, 1.0], [2.0, math.inf, 2.0], True),
        ([1.0, math.inf, 1.0], [2.0, 2.0, 2.0], False),
        ([math.inf] * 3, [math.inf] * 3, False),
    ],
)
def test_sooner_is_judged_by_mean_and_seeds(ours: list[float], theirs: list[float], holds: bool) -> None:
    assert compared(SECONDS, ("a", ours), ("b", theirs)).holds is holds


def test_more_can_be_better() -> None:
    assert compared(ACCURACY, ("a", [97.0, 98.0]), ("b", [96.0, 95.0])).holds
    assert not compared(RATE, ("a", [1.0]), ("b", [2.0])).holds


def test_the_figure_names_both_and_counts_seeds() -> None:
    figure = compared(SECONDS, ("fast", [1.0, 2.0]), ("slow", [3.0, math.inf])).figure
    assert (
        figure
        == "fast 1.50 (2.00–1.00) s, slow 3.00 (never–3.00) s on 1 of 2 seeds; fast better on 2 of 2 seeds"
    )


def test_the_worst_of_what_should_be_large_is_the_smallest() -> None:
    assert Measure(more=True, digits=0).told([1.0, 3.0]) == "2 (1–3)"
    assert Measure(digits=0).told([1.0, 3.0]) == "2 (3–1)"


def test_who_never_arrives_is_said_to_never_arrive() -> None:
    assert SECONDS.told([math.inf, math.inf]) == "never"
    assert SECONDS.told([math.inf]) == "never"


def test_seeds_must_be_the_same() -> None:
    with pytest.raises(ValueError, match="zip"):
        compared(SECONDS, ("a", [1.0]), ("b", [1.0, 2.0]))


def test_growth_may_pause_but_not_turn_back() -> None:
    assert grows([1.0, 1.0, 2.0])
    assert not grows([1.0, 3.0, 2.0])
    assert grows([1.0, 3.0, 2.5], slack=0.5)
    assert not grows([2.0, 2.0, 2.0])


def test_a_mean_with_somebody_who_never_arrives_is_infinite() -> None:
    assert mean([1.0, math.inf]) == math.inf


def test_outcomes_are_counted() -> None:
    yes, no = Claim("a", True, "f", "w"), Claim("b", False, "f", "w")
    assert outcome([yes, yes, no]) == "2 of 3 claims hold here."
    assert (yes.verdict, no.verdict) == ("holds", "does not hold here")


def test_plain_findings_have_verdicts_and_no_numbers_that_json_lacks() -> None:
    line = Line("l", (1.0, 2.0), (math.nan, math.inf))
    finding = Finding("k", "t", "s", (Claim("a", False, "f", "w"),), (), (Plot("t", "c", "x", "y", (line,)),))
    told = plain(finding)
    assert told["claims"][0]["verdict"] == "does not hold here"
    assert told["plots"][0]["lines"][0]["y"] == [None, None]
