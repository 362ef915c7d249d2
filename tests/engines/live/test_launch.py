"""Processes on this machine: their places, their output, their end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tailcut.engines.live.launch import launch
from tailcut.errors import ParameterError
from waiting import limit

PLACE = "import os; print(os.environ['RANK'], 'of', os.environ['WORLD_SIZE'])"


def test_every_line_is_told_and_something_is_done_meanwhile() -> None:
    lines: list[str] = []
    calls: list[int] = []
    assert launch(["-c", PLACE], 3, tell=lines.append, meanwhile=lambda: calls.append(1)) == 0
    assert sorted(lines) == ["0 of 3", "1 of 3", "2 of 3"]
    assert calls


def test_what_a_failing_process_says_is_told_too() -> None:
    lines: list[str] = []
    assert launch(["-c", "import sys; sys.exit('no net')"], 1, tell=lines.append) == 1
    assert lines == ["no net", "tailcut: Worker 0 ended with exit code 1."]


def test_they_print_for_themselves_otherwise(capfd: pytest.CaptureFixture[str]) -> None:
    assert launch(["-c", PLACE], 1) == 0
    assert capfd.readouterr().out == "0 of 1\n"


def test_who_is_killed_is_not_waited_for_and_ends_nobody_else() -> None:
    lines: list[str] = []
    dies = "import os; os.environ['RANK'] == '1' and os.kill(os.getpid(), 9); print('worker', os.environ['RANK'])"
    assert launch(["-c", dies], 3, tell=lines.append) == 0
    assert sorted(lines) == ["worker 0", "worker 2"]
    assert launch(["-c", "import os; os.kill(os.getpid(), 9)"], 2) == -9


def test_who_crashes_has_failed_and_ends_the_others() -> None:
    crashes = "import os, time; os.environ['RANK'] == '1' and os.abort(); time.sleep(60)"
    assert launch(["-c", crashes], 2, tell=lambda line: None) == -signal.SIGABRT


def test_who_says_that_it_came_too_late_has_not_failed_and_ends_nobody() -> None:
    lines: list[str] = []
    late = (
        "import os, sys, time; from tailcut.engines.live.hosting import note_late; "
        "os.environ['RANK'] == '1' and (note_late(), sys.exit(1)); time.sleep(0.5); print('saved')"
    )
    assert launch(["-c", late], 2, tell=lines.append) == 0
    assert lines == ["saved"]


FAILS = """
import os, signal, sys, time
from pathlib import Path
rank, folder = int(os.environ["RANK"]), Path(sys.argv[1])
print("begins")
(folder / str(rank)).touch()
while len(list(folder.iterdir())) < 3:
    time.sleep(0.01)
def mistake():
    raise ValueError("my own mistake")
if rank == 1 or sys.argv[2] == "all":
    mistake()
time.sleep(60)
"""


def failing(folder: Path, how: str, capfd: pytest.CaptureFixture[str], code: str = FAILS) -> list[str]:
    """Return the lines on standard error of three workers, of which worker 1 or all fail."""
    assert launch(["-c", code, str(folder), how], 3, prefix=True) == 1
    printed = capfd.readouterr()
    assert sorted(printed.out.splitlines()) == [f"[rank {worker}] begins" for worker in range(3)]
    return printed.err.splitlines()


def test_the_traceback_of_a_failing_script_comes_last_but_one_and_its_worker_last(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    *traceback, error, last = failing(tmp_path, "one", capfd)
    assert traceback[0] == "[rank 1] Traceback (most recent call last):"
    assert error == "[rank 1] ValueError: my own mistake"
    assert last == "tailcut: Worker 1 ended with exit code 1. The other workers were stopped."


def test_an_error_of_all_workers_is_printed_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = failing(tmp_path, "all", capfd)
    assert sum("Traceback" in line for line in lines) == 1
    assert lines[-2].endswith(" ValueError: my own mistake")
    assert lines[-1].startswith(
        f"tailcut: Worker {lines[-2].removeprefix('[rank ')[0]} ended with exit code 1"
    )


def test_others_are_stopped_while_a_worker_with_an_error_still_takes_its_time_to_end(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lingers = (
        "import atexit; from tailcut.engines.live.worker.uncaught import mind_uncaught; mind_uncaught(); "
        "gone = lambda: not any(os.path.exists(f'/proc/{process}') for process in others()); "
        "others = lambda: [each.read_text() for each in folder.iterdir() if each.name != '1']; "
        "atexit.register(lambda: [time.sleep(0.01) for _ in iter(gone, True)]);"
    )
    code = FAILS.replace(".touch()", ".write_text(str(os.getpid()))").replace(
        "def mis", f"{lingers}\ndef mis"
    )
    # Without a word of the worker the launcher would wait for its end, and the worker for that of the others.
    *_, error, last = failing(tmp_path, "one", capfd, code)
    assert error == "[rank 1] ValueError: my own mistake"
    assert last == "tailcut: Worker 1 ended with exit code 1. The other workers were stopped."


def test_a_crash_is_told_with_its_signal(capfd: pytest.CaptureFixture[str]) -> None:
    crashes = "import os, time; os.environ['RANK'] == '1' and os.abort(); time.sleep(60)"
    assert launch(["-c", crashes], 2, prefix=True) == -signal.SIGABRT
    assert capfd.readouterr().err.splitlines()[-1] == (
        "tailcut: Worker 1 was ended by SIGABRT (exit code -6). The other workers were stopped."
    )


LATE = (
    "import os, time; from tailcut.engines.live.worker.uncaught import mind_uncaught; mind_uncaught()\n"
    "from tailcut.engines.live.worker.inbox import too_late\n"
    "if os.environ['RANK'] == '1': raise too_late('The run is over, before this worker could join.')\n"
    "time.sleep(0.5)"
)


def test_who_comes_after_the_end_says_so_in_one_sentence(capfd: pytest.CaptureFixture[str]) -> None:
    assert launch(["-c", LATE], 2, prefix=True) == 0
    assert capfd.readouterr().err == "[rank 1] tailcut: The run is over, before this worker could join.\n"


def test_nobody_is_no_run() -> None:
    with pytest.raises(ParameterError, match="at least 1 worker"):
        launch(["-c", ""], 0)


LAUNCHER = (
    "import sys; from tailcut.engines.live.launch import launch; sys.exit(launch(['-c', sys.argv[1]], 2))"
)
STAYS = "import os, time; os.write(1, f'{os.getpid()}\\n'.encode()); time.sleep(60)"


def test_a_launcher_that_is_asked_to_end_ends_its_workers_first() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, STAYS], stdout=subprocess.PIPE, text=True
    ) as launcher:
        assert launcher.stdout is not None
        workers = [int(launcher.stdout.readline()) for _ in range(2)]
        launcher.send_signal(signal.SIGTERM)
        assert launcher.wait(timeout=limit(60)) == 128 + signal.SIGTERM
    for worker in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(worker, 0)


# Something goes wrong while they are started, or ended.

HELPLESS = "import time; time.sleep(60)"


def on_start(monkeypatch: pytest.MonkeyPatch, number: int, happens: Callable[[], None]) -> list[Any]:
    """The processes that are started from here on; something happens after so many."""
    started, popen = list[Any](), subprocess.Popen

    def start(*given: Any, **more: Any) -> Any:
        if len(started) == number:
            happens()
        started.append(popen(*given, **more))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    return started


def no_room() -> None:
    raise BlockingIOError(11, "Resource temporarily unavailable")


def test_where_there_is_no_room_for_all_those_that_were_started_are_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = on_start(monkeypatch, 2, no_room)
    with pytest.raises(ParameterError) as told:
        launch(["-c", HELPLESS], 4)
    assert str(told.value) == (
        "Only 2 of 4 worker processes could be started (Resource temporarily unavailable). "
        "Give -n fewer, or raise the limits on processes and open files (ulimit -u, ulimit -n)."
    )
    assert [process.returncode for process in started] == [-signal.SIGTERM] * 2


def test_who_is_asked_to_end_while_it_starts_them_leaves_none_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    started = on_start(monkeypatch, 1, lambda: signal.raise_signal(signal.SIGTERM))
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with pytest.raises(SystemExit) as left:
        launch(["-c", HELPLESS], 3)
    assert left.value.code == 128 + signal.SIGTERM
    assert [process.returncode for process in started] == [-signal.SIGTERM] * 2
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


IMPATIENT = f"import tailcut.engines.live.launch as of; of.PATIENCE = 1.0; {LAUNCHER}"
STUBBORN = (
    "import os, signal, time; tell = lambda *_: os.write(1, f'{os.getpid()}\\n'.encode()); "
    "signal.signal(signal.SIGTERM, tell); tell(); [time.sleep(1) for _ in range(60)]"
)


@pytest.mark.parametrize("again", [signal.SIGTERM, signal.SIGINT])
def test_a_launcher_that_is_asked_twice_ends_its_workers_all_the_same(again: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", IMPATIENT, STUBBORN],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as launcher:
        assert launcher.stdout is not None
        workers = [int(launcher.stdout.readline()) for _ in range(2)]
        launcher.send_signal(signal.SIGTERM)
        assert [int(launcher.stdout.readline()) for _ in range(2)]
        launcher.send_signal(again)
        assert launcher.wait(timeout=limit(60)) != 0
        alive = [worker for worker in workers if Path(f"/proc/{worker}").exists()]
        for worker in alive:
            os.kill(worker, signal.SIGKILL)
    assert alive == []
