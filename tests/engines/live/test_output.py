"""Output of workers as text: whole lines, progress bars as in a terminal, tracebacks that stay together."""

from __future__ import annotations

import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailcut.engines.live.output import HOLD, MAX_LINE, Lines, Tracebacks, how_it_ended, verdict

HEADER = "Traceback (most recent call last):"


def shown(text: str) -> str:
    """A finished line, as a terminal shows it that clears the line at a carriage return which something follows."""
    return text.rstrip("\r").rpartition("\r")[2]


@given(st.lists(st.text(alphabet="ab\r\n", max_size=6), max_size=20))
def test_lines_do_not_depend_on_the_pieces_in_which_they_come(pieces: list[str]) -> None:
    lines, found = Lines(), list[str]()
    for piece in pieces:
        found += lines.feed(piece)
    *ended, rest = "".join(pieces).split("\n")
    assert found == [shown(line) for line in ended]
    assert lines.unfinished == shown(rest)
    assert lines.is_bar == ("\r" in rest)


def test_a_bar_that_returns_at_its_beginning_and_one_that_returns_at_its_end_are_shown_as_they_move() -> None:
    lines = Lines()
    moves = []
    for piece in ("\r  0%|    |", "\r 50%|##  |", "\r100%|####|"):
        assert lines.feed(piece) == []
        moves.append(lines.unfinished)
    assert moves == ["  0%|    |", " 50%|##  |", "100%|####|"]
    assert lines.feed("\nnext") == ["100%|####|"]
    assert not lines.is_bar
    lines.feed("\n10%\r")
    assert (lines.unfinished, lines.is_bar) == ("10%", True)
    lines.feed("20%\r")
    assert lines.unfinished == "20%"


def test_lines_of_windows_end_where_they_end() -> None:
    assert Lines().feed("a\r\nb\r\n") == ["a", "b"]


def test_a_line_without_an_end_is_neither_lost_nor_kept_for_ever() -> None:
    lines = Lines()
    assert lines.feed("prompt> ") == []
    assert lines.end() == ["prompt> "]
    assert lines.end() == []
    assert lines.feed("x" * (MAX_LINE + 1)) == ["x" * (MAX_LINE + 1)]
    assert lines.unfinished == ""


def raised(held: Tracebacks, worker: int, error: str, now: float) -> None:
    for line in (HEADER, '  File "job.py", line 3, in <module>', error):
        assert held.takes(worker, line, now)


def test_the_failed_workers_traceback_comes_last_and_the_same_of_others_is_left_out() -> None:
    held = Tracebacks()
    raised(held, 0, "ValueError: no", 1.0)
    raised(held, 2, "RuntimeError: Connection closed by peer", 1.1)
    raised(held, 1, "ValueError: no", 0.9)
    # It was ended in the midst of it.
    assert held.takes(3, HEADER, 1.2)
    tracebacks, same = held.last(failed=1)
    assert [each.worker for each in tracebacks] == [2, 1]
    assert tracebacks[-1].error == "ValueError: no"
    assert len(tracebacks[-1].lines) == 3
    assert same == [0]
    assert held.last(failed=1) == ([], [])


def test_where_the_failed_worker_has_no_traceback_all_others_are_shown() -> None:
    held = Tracebacks()
    raised(held, 0, "ValueError: no", 1.0)
    raised(held, 1, "ValueError: no", 0.9)
    assert ([each.worker for each in held.last(failed=2)[0]]) == [1, 0]


def test_a_traceback_that_was_only_logged_is_passed_on_after_a_while_with_all_that_followed() -> None:
    held = Tracebacks()
    assert not held.takes(0, "ERROR: this mini-batch is passed over", 0.0)
    raised(held, 0, "ValueError: no", 0.0)
    assert held.takes(0, "epoch 4", 0.1)
    assert held.due(HOLD - 0.1) == []
    (due,) = held.due(HOLD)
    assert due.lines[-1] == "epoch 4"
    assert not held.takes(0, "epoch 5", HOLD)


@pytest.mark.parametrize(
    "line",
    [
        HEADER,
        '  File "job.py", line 1',
        "  + Exception Group Traceback (most recent call last):",
        "Fatal Python error: Segmentation fault",
    ],
)
def test_what_python_prints_at_the_end_of_a_process_is_held(line: str) -> None:
    assert Tracebacks().takes(0, line, 0.0)


def test_the_verdict_names_worker_exit_code_and_signal() -> None:
    assert verdict(3, 2, True, []) == "Worker 3 ended with exit code 2. The other workers were stopped."
    assert verdict(0, 1, False, [1]) == "Worker 0 ended with exit code 1; worker 1 had the same error."
    assert how_it_ended(-signal.SIGKILL) == "was ended by SIGKILL (exit code -9)"
    assert how_it_ended(-60) == "was ended by signal 60 (exit code -60)"
