"""`tailcut train --engine ray`: a real cluster, small and brief; what cannot be is refused before it is started."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Cli, Refused
from tailcut.cli import train_command
from tailcut.engines.records.read import read_run

RAY = ("train", "--engine", "ray")


def test_policies_are_trained_recorded_and_kept(cli: Cli, folder: Path) -> None:
    ended = cli(
        *(*RAY, "--workers", "2", "--servers", "2", "--task", "logistic", "--policy", "backup:c=1"),
        *(
            "--updates",
            "12",
            "--every",
            "4",
            "--batch",
            "8",
            "--json",
            "--journal",
            "runs",
            "--report",
            "page.html",
        ),
        *("--checkpoints", "kept"),
    )
    assert ended.code == 0, ended.err
    assert "Starting 2 workers and 2 servers on Ray here" in ended.err
    (backup,) = json.loads(ended.out)
    assert (backup["arm"], backup["updates"]) == ("backup:c=1", 12)
    assert set(backup["counts"]) <= {1, 2}, "arrivals of one instant are taken together"
    assert [look["version"] for look in backup["looks"]] == [0, 4, 8, 12]
    run = read_run(Path("runs"))
    assert [record.version for record in run.rounds] == list(range(12))
    assert run.ending is not None
    assert run.ending.version == 12
    assert Path("kept/v00000012.safetensors").exists(), "the last version is kept too"
    assert Path("page.html").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("train", "--engine", "spark"), "Unknown engine 'spark'"),
        (("train", "--servers", "2"), "Add --engine ray"),
        (("train", "--address", "auto"), "Add --engine ray"),
        ((*RAY, "--servers", "0"), "--servers must be at least 1"),
        ((*RAY, "--policy", "ddp"), "ddp has no servers"),
        ((*RAY, "--policy", "bayess"), "Unknown policy 'bayess'"),
        ((*RAY, "--policy", "bayes:objective=gain"), "objective=gain does not go with"),
        ((*RAY, "--address", "nowhere"), "must be host:port"),
        ((*RAY, "--address", "127.0.0.1:1"), "No cluster answers at 127.0.0.1:1"),
        ((*RAY, "--workers", "300"), "--workers must be at most 256"),
        ((*RAY, "--workers", "300", "--address", "127.0.0.1:1"), "No cluster answers at 127.0.0.1:1"),
        ((*RAY, "--servers", "10000000", "--task", "logistic"), "can be divided over"),
    ],
)
def test_what_cannot_be_is_refused(refused: Refused, arguments: tuple[str, ...], words: str) -> None:
    assert words in refused(*arguments)


def test_a_report_says_where_the_workers_are(monkeypatch: pytest.MonkeyPatch, cli: Cli, folder: Path) -> None:
    monkeypatch.setattr(train_command, "train_on_servers", lambda *_: ())
    told: list[str] = []
    monkeypatch.setattr(train_command, "_show", lambda found, *_: told.append(found.setting))
    for address in ((), ("--address", "head:6379"), ("--address", "auto")):
        assert cli(*RAY, "--task", "logistic", "--workers", "2", *address).code == 0
    assert [setting.split(", ")[1] for setting in told] == [
        "2 processes on this machine",
        "2 workers on the Ray cluster at head:6379",
        "2 workers on the Ray cluster of this machine",
    ]
