from __future__ import annotations

import math

import pytest
from report_facts import MakePolicy, MakeSource

from tailcut.report.formats import cutoff, figure, percent, seconds, share, span
from tailcut.report.labels import labels
from tailcut.report.ranking import best, everyone
from tailcut.report.words import details, outcome, printable, setting


def test_the_sentence_says_what_waiting_costs_and_what_comes_back(make_source: MakeSource) -> None:
    assert (
        outcome(make_source()) == "Your workers wait 31 % of the time; `stopping` would give back 24 points."
    )


def test_one_point_is_singular(make_source: MakeSource, make_policy: MakePolicy) -> None:
    assert outcome(make_source((make_policy("p", 9.0, idle=0.297),))).endswith("give back 1 point.")


def test_where_waiting_is_best_it_says_so(make_source: MakeSource, make_policy: MakePolicy) -> None:
    plain = make_source((make_policy("wait-all", 9.0, idle=0.31), make_policy("stopping", 8.0)))
    assert "Waiting for all is right here: nothing is to be gained" in outcome(plain)
    barely = make_source((make_policy("wait-all", 9.0, idle=0.31), make_policy("stopping", 9.01, idle=0.305)))
    assert "Waiting for all is right here" in outcome(barely)


def test_nothing_given_back_but_faster_is_not_called_pointless(
    make_source: MakeSource, make_policy: MakePolicy
) -> None:
    facts = make_source((make_policy("wait-all", 5.0, idle=0.31), make_policy("stopping", 9.0, idle=0.31)))
    assert "`stopping` gives back none of it and is faster all the same." in outcome(facts)


def test_without_policies_or_figures_there_is_still_a_sentence(
    make_source: MakeSource, make_policy: MakePolicy
) -> None:
    assert outcome(make_source(())) == "Your workers wait 31 % of the time."
    unknown = make_source((make_policy("stopping", 9.0),), idle_before=math.nan)
    assert outcome(unknown) == "How long your workers wait is not known; `stopping` was the fastest."
    assert "overhead" not in setting(make_source(overhead=math.nan))
    assert details(make_source(())) == ""


def test_equally_fast_the_simpler_policy_is_best(make_source: MakeSource, make_policy: MakePolicy) -> None:
    facts = make_source((make_policy("stopping", 9.0), make_policy("wait-all", 9.0)))
    winner = best(facts)
    assert winner is not None
    assert winner.policy == "wait-all"


def test_policies_come_by_throughput_then_bounds_and_unknown_last(
    make_source: MakeSource, make_policy: MakePolicy, make_bound: MakePolicy
) -> None:
    some = (
        make_bound("b", 10.0),
        make_policy("nan", math.nan),
        make_policy("slow", 1.0),
        make_policy("fast", 2.0),
    )
    assert [facts.policy for facts in everyone(make_source(some))] == ["fast", "slow", "nan", "b"]


def test_details_compare_with_waiting_for_all(make_source: MakeSource) -> None:
    text = details(make_source())
    assert text == (
        "`stopping` takes 3.2 of 4 gradients a round, yields 1.90 times the gradients per second of waiting for "
        "all and reaches 95 % of the clairvoyant."
    )
    assert "the bound for workers that stop at once" in details(make_source(late="finish"))


def test_setting_names_what_differs_from_the_usual(make_source: MakeSource) -> None:
    assert setting(make_source()) == "4 workers, 30 rounds, late workers stop at once"
    full = make_source(seeds=3, warmup=5, late="finish", overhead=0.02)
    assert setting(full) == (
        "4 workers, 30 rounds (first 5 left out), 3 seeds, late workers finish, 20 ms overhead a round"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (share(0.9761), "0.976"),
        (share(math.inf), "–"),
        (span(0.9, 1.012), ".900–1.012"),
        (span(math.nan, 1.0), "–"),
        (percent(0.004), "<1 %"),
        (percent(0.0), "0 %"),
        (percent(0.997), ">99 %"),
        (percent(1.0), "100 %"),
        (percent(None), "–"),
        (figure(0.0), "0"),
        (figure(123456.7), "123457"),
        (figure(1.5e9), "1.50e+09"),
        (figure(-math.inf), "–"),
        (seconds(math.nan), "–"),
        (cutoff(math.nan, 8), "–/8"),
        (cutoff(144.4, 158), "144/158"),
    ],
)
def test_numbers_as_people_read_them(text: str, expected: str) -> None:
    assert text == expected


def test_printable_leaves_nothing_that_steers_a_terminal() -> None:
    assert printable("a\x1b[31m\n\udcffé漢") == "a\ufffd[31m\ufffd\ufffdé漢"


def test_labels_are_short_and_tell_names_apart() -> None:
    names = ["stopping", "stopping", *(f"deadline(window=100, theta=0.8, seconds={i})" for i in range(20))]
    names += ["x" * 100 + "1", "x" * 100 + "2", "y" * 80 + "(" + "z" * 99, "y" * 80 + "(" + "z" * 98]
    found = labels(names)
    assert found["stopping"] == "stopping"
    assert found[names[5]] == "deadline(…seconds=3)"
    assert len(set(found.values())) == len(set(names))
    assert max(map(len, found.values())) <= 26
