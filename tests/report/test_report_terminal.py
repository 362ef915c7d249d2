from __future__ import annotations

import io

import pytest
from report_facts import MakePolicy, MakeSource
from rich.console import Console

from tailcut.report import terminal_table
from tailcut.study.facts import SourceFacts

SENTENCE = "Your workers wait 31 % of the time; `stopping` would give back 24 points."


def printed(source: SourceFacts, width: int, encoding: str = "utf-8", terminal: bool = False) -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(
        file=file, width=width, force_terminal=terminal, color_system="standard" if terminal else None
    )
    console.print(terminal_table(source))
    file.flush()
    assert isinstance(file.buffer, io.BytesIO)
    return file.buffer.getvalue().decode(encoding)


@pytest.mark.parametrize("width", [80, 100])
def test_table_and_sentence_fit(make_source: MakeSource, width: int) -> None:
    text = printed(make_source(seeds=3, notes=("Mind the gap.",)), width)
    assert SENTENCE in text
    assert "Note: Mind the gap." in text
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    assert "…" not in text
    for heading in ("policy", "grad/s", "voyant", "static", "cutoff", "idle"):
        assert heading in text


def test_all_columns_where_there_is_room_for_them(make_source: MakeSource) -> None:
    text = printed(make_source(seeds=3), 140)
    for part in (
        "0.950",
        ".940–.960",
        "0.960",
        "1.188",
        "1.056",
        "3.2/4",
        "31→7 %",
        "0.93",
        "1 %",
        "0.41/1.2",
    ):
        assert part in text
    assert "Left out" not in text


def test_one_seed_shows_all_but_the_spread_at_100(make_source: MakeSource, make_policy: MakePolicy) -> None:
    text = printed(make_source((make_policy("stopping", 9.5, of_informed=None),)), 100)
    assert "Left out" not in text
    assert "worst" not in text
    assert "informed" not in text


def test_narrow_says_what_it_leaves_out(make_source: MakeSource) -> None:
    text = printed(make_source(seeds=3), 80)
    assert "Left out for want of room: decision ms, of informed" in text
    assert "0.41/1.2" not in text


def test_policies_by_throughput_and_bounds_below_a_rule(make_source: MakeSource) -> None:
    lines = printed(make_source(), 100).splitlines()
    first = [line.split()[0].strip("─") or "rule" for line in lines if line.strip()]
    start = first.index("policy")
    policies, bounds = (
        ["stopping", "backup(b=1)", "wait-all"],
        ["clairvoyant", "best-deadline", "best-static"],
    )
    assert first[start : start + 9] == ["policy", "rule", *policies, "rule", *bounds]


def test_plain_when_not_a_terminal_and_dim_bounds_when_it_is(make_source: MakeSource) -> None:
    assert "\x1b" not in printed(make_source(), 100)
    assert "\x1b[2m" in printed(make_source(), 100, terminal=True)


def test_ascii_terminals_get_ascii(make_source: MakeSource) -> None:
    text = printed(make_source(seeds=3, source="é.csv"), 100, encoding="ascii")
    assert "31>7 %" in text
    assert "\\xe9.csv" in text


def test_names_are_neither_markup_nor_control_codes(make_source: MakeSource, make_policy: MakePolicy) -> None:
    text = printed(make_source((make_policy("[bold]\x1b[31mred[/bold]", 9.0),), source="[red]x"), 100)
    assert "[bold]\ufffd[31mred[/bold]" in text
    assert "[red]x" in text


def test_long_names_are_folded_not_cut(make_source: MakeSource, make_policy: MakePolicy) -> None:
    name = "deadline(seconds=1.4,window=100,theta=0.8,unlikely=true)"
    lines = printed(make_source((make_policy(name, 9.0),)), 100).splitlines()
    assert name in "".join(line[:28].strip() for line in lines)


def test_abandon_bound_when_late_workers_finish(make_source: MakeSource) -> None:
    text = printed(make_source(late="finish"), 100)
    assert "of abandon" in text
    assert "voyant" not in text.replace("clairvoyant ", "")


@pytest.mark.parametrize("width", [20, 80, 200])
def test_odd_sources_print(odd_source: SourceFacts, width: int) -> None:
    assert printed(odd_source, width)
