"""Output of a launch: whole lines with their ranks, progress bars that move, one traceback last."""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

from tailcut.engines.live import relay as relays
from tailcut.engines.live.relay import Relay, Screen
from waiting import until

REST = "\x1b[K"
"""Clears a terminal's line from here on."""
CLEAR = f"\r{REST}"


class Terminal(io.StringIO):
    """A file that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def screen(monkeypatch: pytest.MonkeyPatch, out: io.StringIO, err: io.StringIO) -> Screen:
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    return Screen()


def test_a_bar_on_a_terminal_is_drawn_again_below_lines_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    out = err = Terminal()
    it = screen(monkeypatch, out, err)
    it.bar(it.err, "10%", "a")
    it.bar(it.err, "20%", "a")
    it.line(it.out, "loss 1", "b")
    it.bar(it.err, "1 of 9", "c")
    it.line(it.err, "9 of 9", "c")
    it.line(it.out, "loss 2", "b")
    assert out.getvalue() == (
        f"\r10%{REST}\r20%{REST}{CLEAR}loss 1\n\r20%{REST}{CLEAR}\r1 of 9{REST}{CLEAR}9 of 9\nloss 2\n"
    )


def test_in_a_file_a_bar_ends_where_another_line_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    out, err = io.StringIO(), io.StringIO()
    it = screen(monkeypatch, out, err)
    it.bar(it.err, "10%", "a")
    it.line(it.out, "loss 1", "b")
    it.line(it.err, "note", "b")
    it.bar(it.err, "20%", "a")
    it.line(it.err, "done", "a")
    it.bar(it.err, "30%", "a")
    it.end()
    it.end()
    assert out.getvalue() == "loss 1\n"
    assert err.getvalue() == "\r10%\nnote\n\r20%\rdone\n\r30%\n"


class Worker:
    """The pipes of a process, without a process."""

    def __init__(self) -> None:
        self._ends = [os.pipe(), os.pipe()]
        self.stdout, self.stderr = (os.fdopen(ours, "rb", buffering=0) for ours, _ in self._ends)

    def prints(self, text: str | bytes, error: bool = False) -> None:
        os.write(self._ends[error][1], text.encode() if isinstance(text, str) else text)

    def ends(self) -> None:
        for _, theirs in self._ends:
            os.close(theirs)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Relay, list[Worker]]]:
    """A relay that reads so many workers, and prints to `sys.stdout` and `sys.stderr` as they are now."""

    def start(
        workers: int, tell: Callable[[str], None] | None = None, error: io.StringIO | None = None
    ) -> tuple[Relay, list[Worker]]:
        monkeypatch.setattr(sys, "stdout", io.StringIO())
        monkeypatch.setattr(sys, "stderr", error or io.StringIO())
        relay, them = Relay(True, tell), [Worker() for _ in range(workers)]
        for rank, worker in enumerate(them):
            relay.read(rank, cast("Any", worker))
        return relay, them

    return start


def printed(file: Any) -> str:
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def ends(workers: Sequence[Worker]) -> None:
    for worker in workers:
        worker.ends()


def test_lines_are_whole_have_their_ranks_and_go_where_they_were_written_to(started: Any) -> None:
    relay, workers = started(2)
    zero, one = workers
    zero.prints("los")
    one.prints("epoch 1\n")
    until(lambda: "epoch 1" in printed(sys.stdout), "the line of worker 1")
    zero.prints("s é"[:2])
    zero.prints("é".encode()[:1])
    zero.prints("é".encode()[1:])
    zero.prints("\n")
    one.prints("warning\n", error=True)
    one.prints("no end")
    ends(workers)
    relay.end()
    assert printed(sys.stdout) == "[rank 1] epoch 1\n[rank 0] loss é\n[rank 1] no end\n"
    assert printed(sys.stderr) == "[rank 1] warning\n"


def test_a_progress_bar_is_passed_on_before_its_line_ends(started: Any) -> None:
    relay, (worker,) = started(1)
    worker.prints("\r 50%|##  |", error=True)
    until(lambda: printed(sys.stderr) == "\r[rank 0]  50%|##  |", "the bar")
    worker.prints("\r100%|####|\n", error=True)
    worker.ends()
    relay.end()
    assert printed(sys.stderr) == "\r[rank 0]  50%|##  |\r[rank 0] 100%|####|\n"


def test_a_prompt_without_an_end_is_shown_at_a_terminal(
    started: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relays, "IDLE", 0.0)
    relay, (worker,) = started(1, error=Terminal())
    worker.prints("loading …", error=True)
    until(lambda: "loading …" in printed(sys.stderr), "the prompt")
    worker.prints(" done\n", error=True)
    worker.ends()
    relay.end()
    assert printed(sys.stderr) == f"\r[rank 0] loading …{REST}{CLEAR}[rank 0] loading … done\n"


def test_the_traceback_of_the_failed_worker_comes_last_but_for_the_verdict(started: Any) -> None:
    relay, workers = started(3)
    zero, one, two = workers
    one.prints('Traceback (most recent call last):\n  File "job.py", line 3\nValueError: no\n', error=True)
    two.prints('Traceback (most recent call last):\n  File "job.py", line 3\nValueError: no\n', error=True)
    zero.prints("stopping\n", error=True)
    until(lambda: "stopping" in printed(sys.stderr), "the line of worker 0")
    ends(workers)
    relay.end(1, lambda same: f"Worker 1 failed, and {same} too.")
    assert printed(sys.stderr) == (
        "[rank 0] stopping\n[rank 1] Traceback (most recent call last):\n"
        '[rank 1]   File "job.py", line 3\n[rank 1] ValueError: no\ntailcut: Worker 1 failed, and [2] too.\n'
    )


def test_what_was_said_just_before_a_run_is_stopped_is_not_printed(
    started: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    relay, _ = started(0)
    relay.say("tailcut: Nothing is wrong.")
    until(lambda: printed(sys.stderr), "the sentence")
    monkeypatch.setattr(relays, "DELAY", 3600.0)
    relay.say("tailcut: The process has ended of worker 1. The others go on.")
    relay.mute()
    relay.say("tailcut: All workers have ended.")
    relay.end()
    assert printed(sys.stderr) == "tailcut: Nothing is wrong.\n"


def test_sentences_wait_for_news_of_the_processes_and_are_printed_at_the_end_at_the_latest(
    started: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relays, "DELAY", 3600.0)
    relay, _ = started(0)
    relay.say("tailcut: The process has ended of worker 1. The others go on.")
    relay.end()
    assert printed(sys.stderr) == "tailcut: The process has ended of worker 1. The others go on.\n"


def test_a_screen_that_is_paused_keeps_nobody_waiting_but_those_who_print(started: Any) -> None:
    paused, goes_on = threading.Event(), threading.Event()
    lines: list[str] = []

    def tell(line: str) -> None:
        paused.set()
        goes_on.wait()
        lines.append(line)

    relay, (worker,) = started(1, tell)
    worker.prints("first\n")
    paused.wait()
    relay.say("tailcut: A controller took the place of another.")
    relay.look()
    relay.mute()
    goes_on.set()
    worker.ends()
    relay.end()
    assert lines == ["[rank 0] first"]


def test_a_failed_write_is_raised_where_the_launcher_looks_and_workers_are_read_on(started: Any) -> None:
    def tell(line: str) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    relay, (worker,) = started(1, tell)
    worker.prints("first\n")

    def raises() -> bool:
        try:
            relay.look()
        except BrokenPipeError:
            return True
        return False

    until(raises, "the error")
    # More than a pipe holds.
    for _ in range(64):
        worker.prints("x" * 4096)
    worker.ends()
    with pytest.raises(BrokenPipeError):
        relay.end()


def test_workers_that_print_into_pipes_do_so_at_once_and_know_how_wide_the_screen_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(sys, "stderr", Terminal())
    relay = Relay(True, None)
    assert relay.environment["PYTHONUNBUFFERED"] == "1"
    assert int(relay.environment["COLUMNS"]) == 80 - len("[rank 999] ")
    relay.end()
    monkeypatch.setenv("COLUMNS", "33")
    relay = Relay(True, None)
    assert "COLUMNS" not in relay.environment
    relay.end()
    plain = Relay(False, None)
    assert (plain.environment, plain.streams) == ({}, (None, None))
    plain.end()
