"""`tailcut backtest` as people use it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tailcut import names
from tailcut.forecast import NoForecast
from tailcut.study.backtest import backtest, contenders

Cli: TypeAlias = Callable[..., Any]
Refused: TypeAlias = Callable[..., str]

SMALL = ("--rounds", "30", "--seeds", "1")


def test_without_policies_every_usual_forecaster_is_scored_once(cli: Cli) -> None:
    ended = cli("backtest", "demo8", *SMALL)
    assert (ended.code, ended.err) == (0, "")
    assert "8 workers, 30 rounds (first 3 not scored), closed by stopping" in ended.out
    usual = [names.entrant(name) for name, named in names.policies().items() if named.usual]
    foreseeing = [one for one in usual if not isinstance(one.policy.forecaster, NoForecast)]
    wanted = {one.name for one in contenders(foreseeing)} | {"truth"}
    assert {row["policies"] for row in json.loads(cli("backtest", "demo8", *SMALL, "--json").out)} == wanted
    for name in ("elfving", "empirical", "truth"):
        assert ended.out.count(f"\n{name} ") == 1
    for name in ("wait-all", "backup", "bandit"):
        assert f"\n{name} " not in ended.out


def test_json_holds_one_object_per_source_and_forecaster(cli: Cli) -> None:
    ended = cli(
        "backtest", "demo8", "trap10", *SMALL, "--policies", "empirical,truth", "--json", "--see", "all"
    )
    assert (ended.code, ended.err) == (0, "")
    rows = json.loads(ended.out)
    assert [(row["source"], row["policies"]) for row in rows] == [
        ("demo8", "empirical"),
        ("demo8", "truth"),
        ("trap10", "empirical"),
        ("trap10", "truth"),
    ]
    assert {row["see"] for row in rows} == {"all"}
    assert all(0.0 <= row["cover90"] <= 1.0 and len(row["pit"]) == 20 for row in rows)


def test_a_file_has_no_truth(folder: Path, cli: Cli) -> None:
    assert cli("table", "demo8", "-o", "t.csv", "--rounds", "30").code == 0
    rows = json.loads(cli("backtest", "t.csv", "--policies", "empirical", "--json").out)
    assert [row["policies"] for row in rows] == ["empirical"]


def test_rounds_can_be_closed_by_another_policy(cli: Cli) -> None:
    ended = cli(
        "backtest",
        "demo8",
        *SMALL,
        "--policies",
        "empirical",
        "--close",
        "backup:c=4",
        "--warmup",
        "0",
        "--json",
    )
    row = json.loads(ended.out)[0]
    assert (row["close"], row["seen"], row["warmup"]) == ("backup:c=4", 0.5, 0)


def test_a_page_is_written_and_said_where(folder: Path, cli: Cli) -> None:
    ended = cli("backtest", "demo8", *SMALL, "--policies", "empirical", "--report", "page.html")
    assert ended.code == 0
    assert ended.out.endswith(f"Page: {folder / 'page.html'}\n")
    assert (folder / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [path.name for path in folder.iterdir()] == ["page.html"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("demo8", "--see", "some"), "--see must be all or closed, but got 'some'"),
        (("demo8", "--close", "async"), "Rounds cannot be closed by 'async' here"),
        (("demo8", "--close", "drop-compute"), "Rounds cannot be closed by 'drop-compute' here"),
        (("demo8", "--close", "nobody"), "nobody"),
        (("demo8", "--policies", "wait-all"), "'wait-all' forecasts nothing"),
        (("demo8", "--policies", "stopping,,trend"), "empty name"),
        (("demo8", "--policies", "prophet"), "prophet"),
        (("demo8", "--seeds", "0"), "--seeds must be at least 1"),
        (("demo8", "--rounds", "1"), "--rounds must be at least 2"),
        (("demo8", "--warmup", "-1"), "--warmup must be at least 0"),
        (("demo8", "--rounds", "20", "--warmup", "20"), "warmup must leave at least one of the 20 rounds"),
        (("demo8", "--report", "no/page.html"), "does not exist"),
        (("nowhere",), "nowhere"),
        (("missing.csv",), "missing.csv"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(
    refused: Refused, arguments: tuple[str, ...], said: str
) -> None:
    assert said in refused("backtest", *arguments)


def test_an_interrupt_shows_what_is_finished(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def impatient(source: Any, *rest: Any, **options: Any) -> Any:
        if source.name == "trap10":
            raise KeyboardInterrupt
        return backtest(source, *rest, **options)

    monkeypatch.setattr("tailcut.cli.backtest_command.backtest", impatient)
    ended = cli("backtest", "demo8", "trap10", *SMALL, "--policies", "empirical")
    assert ended.code == 130
    assert "\nempirical " in ended.out
    assert ended.err == "tailcut: Interrupted after 1 of 2 sources; what was finished is shown.\n"
    ended = cli("backtest", "demo8", "trap10", *SMALL, "--policies", "empirical", "--json")
    assert len(json.loads(ended.out)) == 2


def test_a_source_that_cannot_be_played_does_not_take_the_finished_ones_along(folder: Path, cli: Cli) -> None:
    rows = ["round,worker,seconds,observed", "0,a,1,true", "0,b,2,true", "1,a,1,false", "1,b,2,false"]
    (folder / "bad.csv").write_text("\n".join(rows) + "\n")
    ended = cli("backtest", "demo8", "bad.csv", *SMALL, "--policies", "empirical")
    assert ended.code == 2
    assert "\nempirical " in ended.out
    assert "no gradient ever comes" in ended.err
