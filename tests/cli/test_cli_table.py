"""`tailcut table`: samples of clusters, and files from one format into another and back."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

from tailcut.clusters.presets import PRESETS
from tailcut.names import source
from tailcut.table import Table
from tailcut.traces import read_table, write_table

Cli: TypeAlias = Callable[..., Any]

ENDINGS = ("csv", "parquet", "jsonl", "ndjson", "npz")


def _same(one: Table, other: Table) -> bool:
    return (
        np.array_equal(one.seconds, other.seconds, equal_nan=True)
        and np.array_equal(one.observed, other.observed)
        and one.names == other.names
        and np.array_equal(one.nodes, other.nodes)
    )


@pytest.fixture
def odd_table() -> Table:
    """Named workers on nodes; some cells are absent, some censored."""
    seconds = np.random.default_rng(5).lognormal(0.0, 0.7, (12, 4))
    seconds[3, 1] = seconds[7:, 2] = np.nan
    observed = ~np.isnan(seconds)
    observed[5, 0] = observed[0, 3] = False
    return Table(seconds, observed, ("gpu-2", "gpu-10", "left", "ü"), np.array([0, 0, 1, -1]))


@pytest.mark.parametrize(("first", "second"), list(permutations(ENDINGS, 2)))
def test_a_table_goes_from_format_to_format_and_back(
    first: str, second: str, folder: Path, cli: Cli, odd_table: Table
) -> None:
    write_table(odd_table, folder / f"a.{first}")
    for one, other in ((f"a.{first}", f"b.{second}"), (f"b.{second}", f"c.{first}")):
        ended = cli("table", one, "-o", other)
        assert (ended.code, ended.out, ended.err) == (0, f"12 rounds of 4 workers: {other}\n", "")
        assert _same(read_table(folder / other), odd_table)


@pytest.mark.parametrize("name", PRESETS)
def test_every_cluster_can_be_written(name: str, folder: Path, cli: Cli) -> None:
    ended = cli("table", name, "-o", "t.npz", "--rounds", "5", "--seed", "3")
    assert (ended.code, ended.err) == (0, "")
    assert _same(read_table(folder / "t.npz"), source(name).draw(3, 5).table)


def test_the_seed_makes_the_sample(folder: Path, cli: Cli) -> None:
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert cli("table", "demo8", "-o", f"{name}.csv", "--rounds", "20", "--seed", seed).code == 0
    a, b, c = ((folder / f"{name}.csv").read_bytes() for name in "abc")
    assert a == b != c


def test_the_seed_is_the_one_that_a_comparison_uses(folder: Path, cli: Cli) -> None:
    small = ("--rounds", "20", "--seeds", "1", "--policies", "wait-all", "--json")
    cli("table", "demo8", "-o", "sample.npz", "--rounds", "20", "--seed", "0")
    sampled, recorded = (cli("compare", name, *small).out for name in ("demo8", "sample.npz"))
    assert _first(sampled, "throughput") == _first(recorded, "throughput")


def _first(text: str, key: str) -> str:
    return next(line for line in text.splitlines() if f'"{key}"' in line)


def test_rounds_cut_a_file_and_no_more_than_there_is(folder: Path, cli: Cli, odd_table: Table) -> None:
    write_table(odd_table, folder / "a.csv")
    assert (
        cli("table", "a.csv", "-o", "short.npz", "--rounds", "5").out == "5 rounds of 4 workers: short.npz\n"
    )
    assert np.array_equal(read_table(folder / "short.npz").seconds, odd_table.seconds[:5], equal_nan=True)
    assert cli("table", "a.csv", "-o", "long.csv", "--rounds", "500").code == 0
    assert _same(read_table(folder / "long.csv"), odd_table)


def test_a_file_can_be_replaced_by_itself(folder: Path, cli: Cli, odd_table: Table) -> None:
    write_table(odd_table, folder / "a.csv")
    assert cli("table", "a.csv", "-o", "a.csv", "--rounds", "3").code == 0
    assert read_table(folder / "a.csv").rounds == 3
    assert [path.name for path in folder.iterdir()] == ["a.csv"]


def test_what_a_format_cannot_hold_is_told_and_the_old_file_stays(folder: Path, cli: Cli) -> None:
    # A worker that comes only later has no row in the first rounds.
    seconds = np.ones((6, 3))
    seconds[:4, 2] = np.nan
    write_table(Table.dense(seconds), folder / "a.npz")
    (folder / "b.csv").write_text("old table")
    ended = cli("table", "a.npz", "-o", "b.csv", "--rounds", "4")
    assert (ended.code, ended.out) == (2, "")
    assert "a worker has no run time at all" in ended.err
    assert "write .npz" in ended.err
    assert (folder / "b.csv").read_text() == "old table"
    assert cli("table", "a.npz", "-o", "b.npz", "--rounds", "4").code == 0


def test_ctrl_c_ends_with_one_sentence(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tailcut.cli.table_command.write_table", interrupted)
    ended = cli("table", "demo8", "-o", "x.csv", "--rounds", "5")
    assert (ended.code, ended.out) == (130, "")
    assert ended.err == "tailcut: Interrupted; nothing more was computed.\n"
    assert not list(folder.iterdir())
