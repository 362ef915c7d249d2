"""`tailcut report` as people use it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.study.grid.study_journals import HEAD, points, write, write_study

Cli: TypeAlias = Callable[..., Any]
Refused: TypeAlias = Callable[..., str]


def test_it_prints_a_table_and_writes_a_page_into_the_folder(folder: Path, cli: Cli) -> None:
    write_study(folder / "out")
    ended = cli("report", "out")
    assert (ended.code, ended.err) == (0, "")
    assert "digits on demo8" in ended.out
    assert (
        "`best static gain` reaches 96 % accuracy in 30.0 s, `wait-all` in 240 s: 8.00 × sooner." in ended.out
    )
    assert f"Page: {folder / 'out' / 'report.html'}" in ended.out
    assert (folder / "out" / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_the_page_goes_where_it_is_wanted(folder: Path, cli: Cli) -> None:
    write_study(folder / "out", seeds=1)
    assert cli("report", "out", "-o", "page.html").code == 0
    assert (folder / "page.html").exists()
    assert not (folder / "out" / "report.html").exists()


def test_json_is_all_there_is_on_standard_output(folder: Path, cli: Cli) -> None:
    write_study(folder / "out")
    ended = cli("report", "out", "--json")
    assert (ended.code, ended.err) == (0, "")
    assert {row["arm"]: row["verdict"] for row in json.loads(ended.out)}["bayes"] == "sooner"
    assert not (folder / "out" / "report.html").exists()


def test_json_with_a_page(folder: Path, cli: Cli) -> None:
    write_study(folder / "out", seeds=1)
    ended = cli("report", "out", "--json", "--output", "page.html")
    assert json.loads(ended.out)
    assert ended.err == f"Page: {folder / 'page.html'}\n"


def test_markdown_keeps_notes_off_standard_output(folder: Path, cli: Cli) -> None:
    write_study(folder / "out")
    write(folder / "out", replace(HEAD, seed=8), points(5.0), None)
    ended = cli("report", "out", "--markdown")
    assert ended.code == 0
    assert "| digits | demo8 | **best static gain** |" in ended.out
    assert ended.err == "Note: 1 run is not finished and left out: runs/digits/demo8/bayes/8.jsonl.\n"


def test_what_was_left_out_is_said(folder: Path, cli: Cli) -> None:
    write_study(folder / "out")
    journal = folder / "out" / "runs" / "digits" / "demo8" / "bayes" / "1.jsonl"
    journal.write_text(journal.read_text().replace('"kind": "point"', '"kind": "pint"', 1))
    ended = cli("report", "out")
    assert ended.code == 0
    said = " ".join(ended.out.split())
    assert "Note: Line 2 of out/runs/digits/demo8/bayes/1.jsonl is damaged" in said
    assert "Note: Of 3 runs each these arms have fewer that are finished: `bayes` 2." in said


def test_there_must_be_something_to_report(folder: Path, refused: Refused) -> None:
    assert "nowhere does not exist. Give the folder of a study." in refused("report", "nowhere")
    (folder / "empty").mkdir()
    assert "empty holds no journals" in refused("report", "empty")
    write(folder / "begun", HEAD, points(5.0), None)
    assert "begun holds no finished run that can be read. 1 run is not finished" in refused("report", "begun")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--json", "--markdown"), "Give one of them"),
        (("-o", "out"), "is a folder. Name a file in it"),
        (("-o", "missing/page.html"), "does not exist. Create it first"),
    ],
)
def test_what_cannot_be_is_refused(
    folder: Path, refused: Refused, arguments: tuple[str, ...], said: str
) -> None:
    write_study(folder / "out", seeds=1)
    assert said in refused("report", "out", *arguments)


def test_other_commands_do_not_load_what_reads_journals() -> None:
    script = (
        "import sys, tailcut.cli; print([m for m in sys.modules if m.startswith(('torch', 'matplotlib'))])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
