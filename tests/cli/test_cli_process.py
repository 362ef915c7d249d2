"""The command line as a process of its own: interrupts, pipes that close, full disks, plain terminals."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from conftest import HEARING, has_members
from waiting import limit, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes of POSIX")

MODULE = [sys.executable, "-m", "tailcut.cli"]
DEADLINE = limit(100.0)
TINY = "round,worker,seconds\n" + "".join(f"{t},{w},{1 + w}\n" for t in range(12) for w in range(3))


def _run(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*MODULE, *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )


@contextmanager
def _terminal() -> Iterator[tuple[int, int]]:
    """Both ends of a terminal: one for us, one for the process."""
    ours, theirs = pty.openpty()
    try:
        yield ours, theirs
    finally:
        os.close(ours)
        os.close(theirs)


def _read(terminal: int, seconds: float) -> bytes:
    ready, _, _ = select.select([terminal], [], [], seconds)
    return os.read(terminal, 65536) if ready else b""


def _interrupted(cwd: Path, *options: str) -> tuple[int, str, str]:
    """Compare a tiny file and an endless cluster, and interrupt it when the bar shows that the second has begun.

    Bounds come first and take an instant; the only policy takes long, in this one process.
    """
    (cwd / "tiny.csv").write_text(TINY)
    endless = ("demo8", "--rounds", "20000", "--seeds", "1", "--policies", "stopping", "--jobs", "1")
    with _terminal() as (ours, theirs):
        process = subprocess.Popen(
            [*HEARING, "compare", "tiny.csv", *endless, *options],
            cwd=cwd,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
            stdout=subprocess.PIPE,
            stderr=theirs,
            text=True,
        )
        try:
            shown, until = b"", time.monotonic() + DEADLINE
            while b"demo8: " not in shown and time.monotonic() < until:
                shown += _read(ours, 0.1)
                assert process.poll() is None, shown
            assert b"demo8: " in shown
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=DEADLINE)
            while more := _read(ours, 0.1):
                shown += more
        finally:
            process.kill()
            process.wait()
    return process.returncode, out, shown.decode()


def _said(shown: str) -> list[str]:
    """Sentences among what the progress bar drew."""
    return [line for line in shown.replace("\r", "\n").split("\n") if "tailcut:" in line]


def test_an_interrupt_shows_what_was_finished_and_ends_with_130(tmp_path: Path) -> None:
    code, out, shown = _interrupted(tmp_path, "--report", "page.html")
    assert code == 130
    assert "tiny.csv  3 workers, 12 rounds" in out
    assert "stopping" in out
    assert "demo8" not in out
    (sentence,) = _said(shown)
    assert "Interrupted after 1 of 2 sources" in sentence
    assert "Traceback" not in out + shown
    page = (tmp_path / "page.html").read_text()
    assert "tiny.csv" in page
    assert page.endswith("</html>\n")


def test_interrupted_json_is_still_json(tmp_path: Path) -> None:
    code, out, shown = _interrupted(tmp_path, "--json")
    assert code == 130
    assert {row["source"] for row in json.loads(out)} == {"tiny.csv"}
    (sentence,) = _said(shown)
    assert "Interrupted after 1 of 2 sources" in sentence
    assert "Traceback" not in shown


@pytest.mark.parametrize(
    "arguments",
    [("compare", "tiny.csv", "--policies", "wait-all"), ("compare", "tiny.csv", "--json"), ("policies",)],
    ids=" ".join,
)
def test_a_reader_that_has_gone_leaves_no_traceback(arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "tiny.csv").write_text(TINY)
    process = subprocess.Popen(
        [*MODULE, *arguments], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 1
    assert err == ""


def test_the_first_line_can_be_cut_off_with_head(tmp_path: Path) -> None:
    (tmp_path / "tiny.csv").write_text(TINY)
    command = f"'{sys.executable}' -m tailcut.cli compare tiny.csv --policies wait-all | head -1"
    ended = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=DEADLINE, check=True
    )
    assert ended.stdout.startswith("tiny.csv  3 workers, 12 rounds")
    assert len(ended.stdout.splitlines()) == 1
    assert ended.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "tiny.csv").write_text(TINY)
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [*MODULE, "compare", "tiny.csv", "--policies", "wait-all"],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
    assert ended.returncode == 1
    (sentence,) = ended.stderr.splitlines()
    assert sentence.startswith("tailcut: ")
    assert "No space left" in sentence


def test_a_terminal_without_the_letters_gets_other_ones(tmp_path: Path) -> None:
    (tmp_path / "é.csv").write_text(TINY)
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    written = _run("table", "é.csv", "-o", "ü.npz", cwd=tmp_path, **ascii_only)
    assert (written.returncode, written.stdout) == (0, "12 rounds of 3 workers: \\xfc.npz\n")
    assert written.stderr == ""
    assert (tmp_path / "ü.npz").exists()
    helped = _run("compare", "--help", cwd=tmp_path, **ascii_only)
    assert helped.returncode == 0
    assert "SOURCE" in helped.stdout


def test_bad_input_is_refused_by_the_process_as_well(tmp_path: Path) -> None:
    ended = _run("compare", "demo8", "--policies", "wait-al", cwd=tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    (sentence,) = ended.stderr.splitlines()
    assert sentence.startswith("tailcut: Unknown policy 'wait-al'. Did you mean 'wait-all'?")


def test_a_comparison_that_nobody_watches_says_nothing_on_standard_error(tmp_path: Path) -> None:
    ended = _run("compare", "demo8", "--rounds", "20", "--seeds", "1", "--json", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(json.loads(ended.stdout)) > 10


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupt_shows_the_policies_of_a_source_that_are_finished_and_ends_its_processes(
    jobs: str, tmp_path: Path
) -> None:
    endless = ("demo8", "--rounds", "20000", "--seeds", "1", "--policies", "wait-all,bayes")
    with _terminal() as (ours, theirs):
        process = subprocess.Popen(
            [*HEARING, "compare", *endless, "--jobs", jobs],
            cwd=tmp_path,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
            stdout=subprocess.PIPE,
            stderr=theirs,
            text=True,
            start_new_session=True,
        )
        try:
            shown, until_then = b"", time.monotonic() + DEADLINE
            # The row of a policy that is finished stands above the bar.
            while b"demo8: wait-all  " not in shown and time.monotonic() < until_then:
                shown += _read(ours, 0.1)
                assert process.poll() is None, shown
            assert b"demo8: wait-all  " in shown
            # A terminal interrupts all processes of the command.
            os.killpg(process.pid, signal.SIGINT)
            out, _ = process.communicate(timeout=DEADLINE)
            while more := _read(ours, 0.1):
                shown += more
            until(lambda: not has_members(process.pid), "the processes of the command end")
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert process.returncode == 130
    assert "demo8  8 workers, 20000 rounds" in out
    assert "\nwait-all " in out
    assert "\nclairvoyant " in out
    assert "\nbayes " not in out
    (sentence,) = _said(shown.decode())
    assert "Interrupted after 0 of 1 sources and 1 of 2 policies on demo8" in sentence
    assert "Traceback" not in out + shown.decode()
