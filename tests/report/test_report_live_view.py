"""The live view as a terminal shows it."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from tailcut.engines.records.asked import Asked
from tailcut.engines.records.now import Now, WorkerNow
from tailcut.report.live_view import MOST_ROWS, live_view

ASKED = Asked("bayes", "linear", "finish", 3, 1000, "0.1.0", "2030-01-01T00:00:00+00:00", 0.0, "here", 7)
NOW = Now(
    written=0.0,
    running=83.0,
    version=412,
    rounds=412,
    cutoffs=(3, 2, 2, 1),
    seconds_per_round=0.0615,
    gradients_per_second=32.5,
    saved=12.4,
    unknown=0,
    over=False,
    why=None,
    workers=(
        WorkerNow(0, "here", 100, "computes", 412, 0.31, 412, 412),
        WorkerNow(1, "here", 101, "waits", 412, 0.02, 412, 400),
        WorkerNow(2, "here", 102, "computes", 405, 4.2, 412, 12),
    ),
)


def printed(view: object, encoding: str = "utf-8", width: int = 100) -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    Console(file=file, width=width).print(view)
    file.seek(0)
    return file.read()


def test_what_is_shown() -> None:
    lines = [line.rstrip() for line in printed(live_view(ASKED, NOW)).splitlines()]
    assert lines == [
        "bayes, 3 workers, late ones finish, version 412 of 1000, 1:23 min",
        "cutoff 2.0/3 █▅▅▃, 32.5 gradients/s, 61.5 ms a round, 12.4 s saved",
        "worker  does                                for  accepted",
        "     0  computes at version 412           0.3 s  ████████████████████ 100 %",
        "     1  waits in step(), version 412      0.0 s  ███████████████████░ 97 %",
        "     2  computes at version 405           4.2 s  █░░░░░░░░░░░░░░░░░░░ 3 %",
    ]


@pytest.mark.parametrize(
    ("changed", "age", "line"),
    [
        ({"over": True}, 0.0, "The run has ended."),
        ({"over": True, "why": "Worker 2 is gone."}, 0.0, "The run has failed: Worker 2 is gone."),
        ({}, 7.0, "No news for 7.0 s."),
        ({"over": True}, 700.0, "The run has ended."),
    ],
)
def test_how_it_ends(changed: dict[str, object], age: float, line: str) -> None:
    shown = printed(live_view(ASKED, replace(NOW, **changed), age))  # type: ignore[arg-type]
    assert shown.splitlines()[-1].rstrip() == line


def test_what_may_be_more_is_called_so() -> None:
    assert "at least 12.4 s saved" in printed(live_view(ASKED, replace(NOW, unknown=3)))


def test_before_anything_is_known() -> None:
    assert "Waiting for the controller." in printed(live_view(ASKED, None))
    early = replace(NOW, rounds=0, cutoffs=(), seconds_per_round=None, gradients_per_second=None)
    assert "No round has closed yet." in printed(live_view(ASKED, early))


def test_a_terminal_without_other_letters() -> None:
    shown = printed(live_view(ASKED, NOW), encoding="ascii")
    assert "###################. 97 %" in shown


def test_of_many_workers_those_that_are_accepted_least() -> None:
    many = tuple(WorkerNow(n, "here", n, "computes", 1, 0.1, 100, 100 - n % 2) for n in range(158))
    shown = printed(live_view(replace(ASKED, workers=158), replace(NOW, workers=many)))
    rows = [line for line in shown.splitlines() if "computes at" in line]
    assert len(rows) == MOST_ROWS
    assert all(row.rstrip().endswith("99 %") for row in rows)
    assert f"and {158 - MOST_ROWS} more, accepted in >99 % on average" in shown


def test_nothing_can_steer_the_terminal() -> None:
    assert "\x1b" not in printed(
        live_view(replace(ASKED, policy="\x1b[31mred"), replace(NOW, over=True, why="\x1b[2J"))
    )
