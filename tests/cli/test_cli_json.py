"""JSON output for other programs is one list of flat objects with the promised keys and finite numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

Cli: TypeAlias = Callable[..., Any]
Row: TypeAlias = dict[str, Any]

PROMISED = {
    "source",
    "workers",
    "rounds",
    "warmup",
    "policy",
    "throughput",
    "of_clairvoyant",
    "of_clairvoyant_all",
    "of_best_static",
    "of_best_deadline",
    "mean_cutoff",
    "decision_ms_p50",
    "decision_ms_p99",
}
TIMINGS = ("decision_ms_p50", "decision_ms_p99", "round_ms")
INTERVALS = tuple(
    f"{figure}_{end}"
    for figure in ("throughput", "of_clairvoyant", "table_score", "clock_score")
    for end in ("low", "high")
)
BOUNDS = ["informed", "clairvoyant", "clairvoyant-whole", "best-static", "best-deadline"]
SMALL = ("--rounds", "20", "--seeds", "1", "--json")
TINY = "round,worker,seconds\n" + "".join(f"{t},{w},{1 + w}\n" for t in range(20) for w in range(3))


def _rows(cli: Cli, *arguments: str) -> list[Row]:
    ended = cli("compare", *arguments)
    assert (ended.code, ended.err) == (0, "")
    rows: list[Row] = json.loads(ended.out, parse_constant=_no_number)
    return rows


def _no_number(text: str) -> float:
    raise AssertionError(f"{text} is no JSON")


def _numbers(value: object) -> list[float]:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return [number for part in inner for number in _numbers(part)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


def test_one_list_of_objects_with_the_promised_keys_and_finite_numbers(cli: Cli) -> None:
    policies = "wait-all,backup:b=2,deadline:seconds=1.25,drop-compute:micro=4,async"
    rows = _rows(cli, "demo8", "trap10:n=10", *SMALL, "--policies", policies)
    given = policies.split(",")
    assert [(row["source"], row["policy"]) for row in rows] == [
        (source, name) for source in ("demo8", "trap10:n=10") for name in [*given, *BOUNDS]
    ]
    kinds = ["policy"] * 3 + ["other"] * 2 + ["bound"] * 5
    assert [row["kind"] for row in rows] == 2 * kinds
    for row in rows:
        assert row.keys() >= PROMISED
        assert all(math.isfinite(number) for number in _numbers(row))
        # Only what was not timed is unknown, what nothing was timed for, and the intervals over a single seed.
        assert [
            key for key, value in row.items() if value is None and key not in (*TIMINGS, *INTERVALS)
        ] == []
        assert all(row[key] is None for key in INTERVALS)
        assert (row["rounds"], row["warmup"], row["seeds"], row["late"]) == (20, 2, 1, "abandon")
    assert [row["workers"] for row in rows] == 10 * [8] + 10 * [10]
    timed = {row["policy"] for row in rows if row["decision_ms_p50"] is not None}
    assert timed == {"deadline:seconds=1.25", "drop-compute:micro=4", "async", "informed"}


def test_the_bounds_are_their_own_measure(cli: Cli) -> None:
    rows = {row["policy"]: row for row in _rows(cli, "demo8", *SMALL, "--policies", "wait-all")}
    for name, key in [
        ("clairvoyant", "of_clairvoyant"),
        ("clairvoyant", "of_clairvoyant_all"),
        ("informed", "of_informed"),
        ("best-static", "of_best_static"),
        ("best-deadline", "of_best_deadline"),
    ]:
        assert rows[name][key] == 1.0
        assert rows["wait-all"][key] < 1.0
    plain = rows["wait-all"]
    assert plain["of_clairvoyant"] == pytest.approx(plain["throughput"] / rows["clairvoyant"]["throughput"])
    assert plain["of_best_static"] == pytest.approx(plain["throughput"] / rows["best-static"]["throughput"])
    assert plain["given_back"] == 0.0


def test_where_late_workers_finish_the_clairvoyant_is_called_the_abandon_bound(cli: Cli) -> None:
    rows = _rows(cli, "demo8", *SMALL, "--policies", "wait-all,backup:b=1", "--late", "finish")
    for row in rows:
        assert row.keys() >= PROMISED
        assert row["late"] == "finish"
        assert row["of_clairvoyant"] is row["of_clairvoyant_all"] is None
        assert math.isfinite(row["of_abandon_bound"])
        assert math.isfinite(row["of_abandon_bound_all"])
    bound = next(row for row in rows if row["policy"] == "clairvoyant")
    assert bound["of_abandon_bound"] == 1.0
    assert "of_abandon_bound" not in _rows(cli, "demo8", *SMALL, "--policies", "wait-all")[0]


def test_a_file_has_one_seed_and_no_informed_bound(folder: Path, cli: Cli) -> None:
    (folder / "tiny.csv").write_text(TINY)
    rows = _rows(cli, "tiny.csv", "--json", "--policies", "wait-all", "--seeds", "7")
    assert [row["policy"] for row in rows] == ["wait-all", *BOUNDS[1:]]
    assert {(row["seeds"], row["of_informed"], row["overhead"]) for row in rows} == {(1, None, 0.0)}


def test_options_reach_the_figures(folder: Path, cli: Cli) -> None:
    (folder / "tiny.csv").write_text(TINY)
    options = ("--rounds", "10", "--warmup", "4", "--overhead", "0.5", "--policies", "wait-all")
    row = _rows(cli, "tiny.csv", "--json", *options)[0]
    assert (row["rounds"], row["warmup"], row["overhead"]) == (10, 4, 0.5)
    assert row["throughput"] == pytest.approx(3 / 3.5)
    assert row["idle"] == pytest.approx(3 / (3 * 3.5))
    assert _rows(cli, "demo8:overhead=0.25", *SMALL, "--policies", "wait-all")[0]["overhead"] == 0.25


def test_the_same_command_twice_gives_the_same_figures(cli: Cli) -> None:
    def figures() -> list[Row]:
        policies = "wait-all,bandit,empirical,trend,drop-compute,softsync"
        rows = _rows(
            cli,
            "demo8",
            "fail-and-return",
            "--rounds",
            "20",
            "--seeds",
            "2",
            "--json",
            "--policies",
            policies,
        )
        return [{key: value for key, value in row.items() if key not in TIMINGS} for row in rows]

    assert figures() == figures()


def test_more_seeds_spread(cli: Cli) -> None:
    rows = _rows(cli, "demo8", "--rounds", "20", "--seeds", "3", "--json", "--policies", "wait-all")
    row = rows[0]
    assert row["seeds"] == 3
    assert row["throughput_worst"] < row["throughput"] < row["throughput_best"]
    assert row["of_clairvoyant_worst"] < row["of_clairvoyant"] < row["of_clairvoyant_best"]
    assert row["throughput_low"] < row["throughput"] < row["throughput_high"]
    assert row["of_clairvoyant_low"] < row["of_clairvoyant"] < row["of_clairvoyant_high"]
    assert row["given_back"] == 0.0


def test_a_policy_given_twice_is_compared_once(cli: Cli) -> None:
    rows = _rows(cli, "demo8", *SMALL, "--policies", "backup:b=1,wait-all, backup:b=1 ,backup:b=01")
    names = [row["policy"] for row in rows]
    assert names == ["backup:b=1", "wait-all", "backup:b=01", *BOUNDS]


def test_naming_a_bound_is_no_mistake(cli: Cli) -> None:
    assert [
        row["policy"] for row in _rows(cli, "demo8", *SMALL, "--policies", "clairvoyant,informed")
    ] == BOUNDS
    named = _rows(cli, "demo8", *SMALL, "--policies", "best-static,wait-all,best-deadline")
    assert [row["policy"] for row in named] == ["wait-all", *BOUNDS]


def test_a_source_given_twice_is_compared_twice(cli: Cli) -> None:
    rows = _rows(cli, "demo8", "demo8", *SMALL, "--policies", "wait-all")
    assert [row["policy"] for row in rows] == 2 * ["wait-all", *BOUNDS]
    assert rows[0]["throughput"] == rows[6]["throughput"]


def test_names_of_workers_and_nodes_of_a_file_are_understood(folder: Path, cli: Cli) -> None:
    rng = np.random.default_rng(3)
    lines = ["seconds,node,worker,round"]
    for step in range(20):
        # Node b is slow in every other round, all of it.
        slow = 3.0 if step % 2 else 1.0
        lines += [f"{rng.uniform(1, 1.1)},a,gpu-{i},{step}" for i in range(3)]
        lines += [f"{slow * rng.uniform(1, 1.1)},b,gpu-{i},{step}" for i in range(3, 12)]
    (folder / "nodes.csv").write_text("\n".join(lines) + "\n")
    rows = _rows(cli, "nodes.csv", "--json", "--policies", "wait-all,trend")
    assert {(row["workers"], row["rounds"]) for row in rows} == {(12, 20)}
    assert rows[0]["mean_cutoff"] == 12.0


def test_with_a_page_standard_output_is_json_alone(folder: Path, cli: Cli) -> None:
    ended = cli("compare", "demo8", *SMALL, "--policies", "wait-all", "--report", "page.html")
    assert ended.code == 0
    assert len(json.loads(ended.out)) == 6
    assert ended.err == f"Page: {folder / 'page.html'}\n"
