"""`states=clock` on the command line: compared, told in the JSON, and refused where a table is needed."""

from __future__ import annotations

import json

import pytest

from conftest import Cli


def test_a_cluster_by_the_clock_is_compared_and_the_json_says_so(cli: Cli) -> None:
    small = ("--rounds", "40", "--seeds", "1", "--policies", "wait-all,backup:b=2", "--json")
    ended = cli("compare", "nodes16", "nodes16:states=clock", *small)
    assert (ended.code, ended.err) == (0, "")
    rows = json.loads(ended.out)
    assert {(row["source"], row["states"]) for row in rows} == {
        ("nodes16", "rounds"),
        ("nodes16:states=clock", "clock"),
    }
    for row in rows:
        assert row["clock_score"] is not None
        assert (row["table_score"] is None) == (row["states"] == "clock")


@pytest.mark.parametrize(
    "arguments",
    [
        ("table", "nodes16:states=clock", "-o", "x.npz"),
        ("backtest", "nodes16:states=clock", "--rounds", "20", "--seeds", "1"),
    ],
)
def test_what_needs_a_table_refuses_states_by_the_clock(arguments: tuple[str, ...], cli: Cli) -> None:
    ended = cli(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert "so they make no table. Leave states=clock out" in ended.err


def test_jobs_must_be_at_least_one(cli: Cli) -> None:
    for command in ("compare", "backtest"):
        ended = cli(command, "demo8", "--jobs", "0")
        assert (ended.code, ended.out) == (2, "")
        assert ended.err == "tailcut: --jobs must be at least 1, but got 0. Try --jobs 1.\n"
