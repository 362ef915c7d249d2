"""`tailcut watch`, and folders of runs among the sources of `tailcut compare`."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from rich.console import Console
from tests.engines.records.recorded import record

from tailcut.cli import watch_command
from tailcut.cli.watch_command import EVERY, PATIENCE, watch
from tailcut.cli.watching import Watched, shown
from tailcut.errors import InputError
from tailcut.table import Table
from tailcut.traces import write_table

Cli: TypeAlias = Callable[..., Any]
Refused: TypeAlias = Callable[..., str]

TABLE = Table.dense(np.random.default_rng(0).uniform(0.8, 1.3, size=(30, 3)))


def silent() -> Console:
    return Console(file=io.StringIO(), width=100)


def output(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def unfinished(folder: Path) -> Path:
    """The folder of a run that goes on."""
    now = json.loads((record(folder, TABLE) / "now.json").read_text())
    (folder / "now.json").write_text(json.dumps(now | {"over": False}))
    return folder


def test_one_frame(folder: Path, cli: Cli) -> None:
    record(folder / "run", TABLE, "backup:b=1")
    ended = cli("watch", "run", "--once")
    assert (ended.code, ended.err) == (0, "")
    assert "backup:b=1, 3 workers, late ones finish, version 30" in ended.out
    assert "The run has ended." in ended.out


def test_it_ends_with_the_run(folder: Path, cli: Cli) -> None:
    record(folder / "run", TABLE)
    ended = cli("watch", "run")
    assert ended.code == 0
    assert ended.out.count("The run has ended.") == 1


def test_it_looks_again_until_the_run_is_over(folder: Path) -> None:
    run, console = unfinished(folder / "run"), silent()
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            now = json.loads((run / "now.json").read_text())
            (run / "now.json").write_text(json.dumps(now | {"over": True, "why": "Nobody came."}))

    watch(Watched(run, calendar=lambda: 0.0), console, pause)
    assert pauses == [EVERY] * 3
    assert "The run has failed: Nobody came." in output(console)


def test_a_run_that_begins_later_is_waited_for(folder: Path) -> None:
    console = silent()
    watch(Watched(folder / "run", lambda: 0.0), console, lambda _: record(folder / "run", TABLE) and None)
    assert "The run has ended." in output(console)


def test_a_run_that_was_broken_off_is_not_waited_for(folder: Path) -> None:
    run = unfinished(folder / "run")
    with pytest.raises(InputError, match="Nothing was written to the run's folder for 60 s"):
        watch(Watched(run, calendar=lambda: 100.0), silent(), lambda _: None)
    pauses: list[float] = []
    with pytest.raises(InputError, match="No run began in 60 s"):
        watch(Watched(folder / "none"), silent(), pauses.append)
    assert sum(pauses) == pytest.approx(PATIENCE - EVERY)


def test_ctrl_c_ends_it_quietly(folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(watch_command, "watch", interrupted)
    record(folder / "run", TABLE)
    ended = cli("watch", "run")
    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_a_run_that_has_not_begun_is_waited_for_in_words(
    folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch_command, "watch", lambda *_: None)
    assert cli("watch", "run").err == "Waiting up to 60 s for a run to begin in run.\n"


def test_what_is_no_run_is_refused(folder: Path, refused: Refused) -> None:
    assert "missing holds no run" in refused("watch", "missing", "--once")
    (folder / "bad").mkdir()
    (folder / "bad" / "run.json").write_text("{")
    assert "run.json is damaged" in refused("watch", "bad", "--once")
    (folder / "other").mkdir()
    record(folder / "other", TABLE)
    (folder / "other" / "now.json").write_text("{}")
    assert "now.json is damaged" in refused("watch", "other", "--once")


def test_under_another_command_it_is_shown_only_to_people(folder: Path) -> None:
    record(folder / "run", TABLE)
    console = silent()
    with shown([folder / "run"], console) as refresh:
        refresh()
    assert output(console).strip() == ""
    console = Console(file=io.StringIO(), width=100, force_terminal=True, force_interactive=True)
    with shown([folder / "run"], console) as refresh:
        refresh()
        console.print("a line of a worker")
    assert "late ones finish" in output(console)
    assert "a line of a worker" in output(console)


def test_a_record_that_is_half_written_does_not_end_what_it_is_shown_under(folder: Path) -> None:
    (folder / "run").mkdir()
    (folder / "run" / "run.json").write_text("{")
    console = Console(file=io.StringIO(), width=100, force_terminal=True, force_interactive=True)
    with shown([folder / "run"], console) as refresh:
        refresh()
        console.print("a line of a worker")
    assert "a line of a worker" in output(console)


def test_a_run_compares_as_its_table(folder: Path, cli: Cli) -> None:
    write_table(TABLE, folder / "times.npz")
    record(folder / "run", TABLE, overhead=0.05)
    options = ("--policies", "wait-all,backup:b=1", "--json")
    run = json.loads(cli("compare", "run", *options).out)
    table = json.loads(cli("compare", "times.npz", *options, "--late", "finish", "--overhead", "0.05").out)
    unlike = ("source", "decision_ms_p50", "decision_ms_p99", "round_ms")
    for one, other in zip(run, table, strict=True):
        assert {key: one[key] for key in one if key not in unlike} == {
            key: other[key] for key in other if key not in unlike
        }
    assert {row["source"] for row in run} == {"run"}


def test_a_folder_without_a_run_is_no_source(folder: Path, refused: Refused) -> None:
    (folder / "empty").mkdir()
    assert "empty holds no run that can be read" in refused("compare", "empty")
