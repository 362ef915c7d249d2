"""Restarts of processes: pauses, number of restarts, and the process that replaces a controller."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailcut import standby
from tailcut.engines.live.supervise import LONGEST, PAUSE, STEADY, Backoff, Restarts
from tailcut.engines.live.worker.controller_process import ControllerProcess, has_loaded, waiting
from waiting import limit, until


@given(st.lists(st.floats(0.0, 2 * STEADY), min_size=1, max_size=12))
def test_pauses_double_until_the_longest_and_are_short_again_after_a_steady_life(lives: list[float]) -> None:
    backoff, begun, expected = Backoff(), 0.0, PAUSE
    for life in lives:
        now = begun + life
        # The sum is rounded: it may be a little less than the life it was made of.
        if now - begun >= STEADY:
            expected = PAUSE
        due = backoff.due(now)
        assert due - now == pytest.approx(expected)
        backoff.begun(due)
        begun, expected = due, min(LONGEST, 2 * expected)


class Ended:
    """A stand-in for a process that has an exit code, None while it runs."""

    def __init__(self, code: int | None) -> None:
        self.code = code

    def poll(self) -> int | None:
        return self.code


def watched(*codes: int | None, most: int) -> tuple[Restarts, list[Ended], list[int]]:
    """Return a `Restarts`, processes with these exit codes, and the list of restarted workers."""
    running, started = [Ended(code) for code in codes], list[int]()

    def start(worker: int) -> subprocess.Popen[bytes]:
        started.append(worker)
        return cast("subprocess.Popen[bytes]", Ended(None))

    return Restarts(start, most), running, started


def look(restarts: Restarts, running: list[Ended], now: float) -> None:
    restarts.look(cast("list[subprocess.Popen[bytes]]", running), now)


def test_who_was_killed_is_started_again_when_it_is_due_and_so_often_only() -> None:
    restarts, running, started = watched(None, -signal.SIGKILL, most=2)
    for now, times in ((0.0, 0), (PAUSE - 0.1, 0), (PAUSE, 1), (PAUSE + 1.0, 1)):
        look(restarts, running, now)
        assert started == [1] * times
    running[1].code = -signal.SIGTERM
    for now, times in ((2.0, 1), (2.0 + PAUSE, 1), (2.0 + 2 * PAUSE, 2)):
        look(restarts, running, now)
        assert started == [1] * times
    running[1].code = -signal.SIGKILL
    look(restarts, running, 100.0)
    look(restarts, running, 200.0)
    assert started == [1, 1]


@pytest.mark.parametrize("code", [0, 1, -signal.SIGSEGV])
def test_who_has_ended_or_failed_is_not(code: int) -> None:
    restarts, running, started = watched(None, code, most=2)
    look(restarts, running, 0.0)
    look(restarts, running, 100.0)
    assert started == []


def test_where_nobody_is_left_there_is_nothing_to_come_back_to() -> None:
    restarts, running, started = watched(-signal.SIGKILL, -signal.SIGKILL, most=2)
    look(restarts, running, 0.0)
    look(restarts, running, 100.0)
    assert started == []


def test_where_all_were_killed_they_are_started_again_if_they_can_resume() -> None:
    restarts, running, started = watched(-signal.SIGKILL, -signal.SIGKILL, most=1)
    processes = cast("list[subprocess.Popen[bytes]]", running)
    assert (restarts.pending(processes, resumes=False), restarts.pending(processes, resumes=True)) == (
        [],
        [0, 1],
    )
    restarts.look(processes, 0.0, resumes=True)
    restarts.look(processes, PAUSE, resumes=True)
    assert started == [0, 1]
    for each in running:
        each.code = -signal.SIGKILL
    assert restarts.pending(processes, resumes=True) == [], "they have no restarts left"


def test_once_somebody_has_come_to_the_end_nobody_is_started_again() -> None:
    restarts, running, started = watched(None, 0, -signal.SIGKILL, most=2)
    look(restarts, running, 0.0)
    look(restarts, running, 100.0)
    assert started == []


def test_one_that_cannot_be_started_again_is_told_of_and_tried_the_next_time() -> None:
    said, tries = list[str](), list[int]()

    def start(worker: int) -> subprocess.Popen[bytes]:
        tries.append(worker)
        raise BlockingIOError(11, "Resource temporarily unavailable")

    restarts, running = Restarts(start, 2, said.append), [Ended(None), Ended(-signal.SIGKILL)]
    for now in (0.0, PAUSE, PAUSE + 0.1, 3 * PAUSE + 0.1, 100.0, 200.0):
        look(restarts, running, now)
    assert tries == [1, 1]
    assert said == ["tailcut: Worker 1 could not be started again (Resource temporarily unavailable)."] * 2


def test_who_loads_for_one_that_stands_by_has_the_lowest_priority_and_nobody_else() -> None:
    before, found = os.getpriority(os.PRIO_PROCESS, threading.get_native_id()), list[int]()

    def load() -> None:
        standby._load()
        found.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

    loading = threading.Thread(target=load)
    loading.start()
    loading.join()
    assert found == [standby.LOWEST]
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == before


def test_one_that_stands_by_becomes_the_controller_with_the_usual_priority() -> None:
    waits = waiting()
    own = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        until(lambda: has_loaded(waits), "everything to be loaded")
        controller = ControllerProcess({"workers": 1, "policy": "wait-all", "term": 2}, standby=waits)
        assert controller.wait_until_listening(limit(60.0))
        assert controller.address.startswith("tcp://127.0.0.1:")
        assert waits.poll() is None
        assert os.getpriority(os.PRIO_PROCESS, waits.pid) == own
        controller.end(at_once=True)
        assert waits.wait(10.0) is not None
    finally:
        waits.kill()
        waits.wait()
