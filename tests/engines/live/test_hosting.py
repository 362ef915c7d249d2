"""A real host: controllers that have lost their workers get successors, one after the other."""

from __future__ import annotations

import math
import os
import signal
import time
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest
from hub_scripts import applied, arrived, bye, hello
from test_secured_run import hears

from tailcut.engines.live import hosting
from tailcut.engines.live.hosting import FOLDER, Host, answer, ask, is_over
from tailcut.engines.live.keys import found_key
from tailcut.engines.live.messages import Close, Free, New
from tailcut.engines.live.worker.controller_process import Child, has_loaded, waiting
from tailcut.engines.live.worker.inbox import Inbox, TooLateError
from tailcut.engines.live.worker.link import Link
from waiting import limit, until

pytestmark = pytest.mark.processes
AT_MOST = limit(80.0)
"""Seconds; starting one takes two, beside other tests."""


def answered(host: Host, folder: Path) -> str:
    """Return the address of the first controller, as soon as the host announces it."""

    def look() -> str | None:
        host.look(time.monotonic())
        return answer(folder, 0)

    return str(until(look, "the controller"))


def test_every_controller_that_is_deserted_has_a_successor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosting, "SETTLED", 0.0)
    standing_by: list[Child] = []
    monkeypatch.setattr(
        hosting, "waiting", lambda around: standing_by.append(waiting(around)) or standing_by[-1]
    )
    said: list[str] = []
    host = Host(tmp_path, said.append, {})

    def is_said(words: str) -> bool:
        host.look(time.monotonic())
        return any(words in line for line in said)

    try:
        options = {"workers": 1, "policy": "wait-all", "journal": str(tmp_path / "run")}
        ask(tmp_path, 0, options)
        address = answered(host, tmp_path)
        # The second of them has waited to be it, loaded: its end must tell as much as the first one's.
        until(partial(is_loaded, standing_by, host), "a process that stands by")
        for term in range(1, 4):
            with Link(address, found_key(host.environment)) as line:
                where = {"term": term - 1, "epoch": 2 * (term - 1), "version": term - 1}
                line.send(hello(0, 1, **where))
                new = hears(line, New)
                assert isinstance(new, New)
                assert (new.term, new.base) == (term, term - 1)
                line.send(arrived(0, term - 1, term=term, epoch=new.epoch))
                hears(line, Close)
                line.send(applied(0, term, term=term, epoch=new.epoch))
            until(partial(is_said, f"in term {term + 1}."), "the next controller")
        assert standing_by[0].poll() is not None, "it was one of them"
    finally:
        host.end(at_once=True)


def is_loaded(standing_by: list[Child], host: Host) -> bool:
    """Return whether a standby process has loaded everything."""
    host.look(time.monotonic())
    return any(map(has_loaded, standing_by))


def test_where_a_controller_has_seen_its_run_out_nobody_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    host = Host(tmp_path, print, {})
    try:
        ask(tmp_path, 0, {"workers": 1, "policy": "wait-all"})
        address = answered(host, tmp_path)
        with Link(address, found_key(host.environment)) as line:
            line.send(hello(0, 1))
            hears(line, New)
            assert (host.is_over, is_over(address)) == (False, False)
            line.send(bye(0))
            hears(line, Free)
        until(lambda: (host.look(time.monotonic()), is_over(address))[1], "the end of the run")
        assert host.is_over
        with Link(address, found_key(host.environment)) as line, pytest.raises(TooLateError, match="is over"):
            Inbox(line, AT_MOST, time.monotonic).next()
        assert host.came_late(os.getpid())
    finally:
        host.end(at_once=True)


def test_at_the_end_nobody_waits_for_a_controller_that_does_not_listen_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The case occurs where a controller is killed after it has told all workers that the run is over."""
    monkeypatch.setattr(hosting, "PATIENCE", None)
    host = Host(tmp_path, print, {})
    ask(tmp_path, 0, {"workers": 1, "policy": "wait-all"})
    host.look(time.monotonic())
    # Without patience this would last for ever.
    host.end(at_once=False)


def test_a_process_that_stands_by_and_is_stopped_does_not_keep_the_launcher_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    standing_by: list[Child] = []
    monkeypatch.setattr(hosting, "SETTLED", 0.0)
    monkeypatch.setattr(hosting, "STANDBY_PATIENCE", 0.1)
    monkeypatch.setattr(
        hosting, "waiting", lambda around: standing_by.append(waiting(around)) or standing_by[-1]
    )
    said: list[str] = []
    host = Host(tmp_path, said.append, {})

    def is_said() -> bool:
        host.look(time.monotonic())
        return any("in term 2." in line for line in said)

    try:
        ask(tmp_path, 0, {"workers": 1, "policy": "wait-all"})
        address = answered(host, tmp_path)
        until(partial(is_loaded, standing_by, host), "a process that stands by")
        standing_by[0].send_signal(signal.SIGSTOP)
        with Link(address, found_key(host.environment)) as line:
            line.send(hello(0, 1))
            hears(line, New)
        until(is_said, "the second controller", AT_MOST)
        assert standing_by[0].poll() == -signal.SIGKILL
    finally:
        host.end(at_once=True)


class Scripted:
    """A controller's process that ends when the test says so."""

    all: ClassVar[list[Scripted]] = []

    def __init__(self, *_: object) -> None:
        self.code: int | None = None
        self.address = "tcp://127.0.0.1:4711"
        Scripted.all.append(self)

    def wait_until_listening(self, patience: float) -> bool:
        return True

    def end(self, at_once: bool, patience: float | None = None) -> None: ...


def test_one_that_was_well_for_long_is_replaced_however_often_it_was_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosting, "ControllerProcess", Scripted)
    monkeypatch.setattr(hosting, "SETTLED", math.inf)
    monkeypatch.setattr(hosting, "WATCHFUL", math.inf)
    Scripted.all.clear()
    host, now = Host(tmp_path, lambda said: None, {}), 0.0
    ask(tmp_path, 0, {"workers": 1, "policy": "wait-all"})

    def dies_after(seconds: float) -> bool:
        """Return whether another takes its place, within more time than the longest pause."""
        nonlocal now
        host.look(now)
        before, now = len(Scripted.all), now + seconds
        Scripted.all[-1].code = -signal.SIGKILL
        ends = now + 2.0 * hosting.PAUSES[1]
        while len(Scripted.all) == before and now < ends:
            host.look(now)
            now += 0.1
        return len(Scripted.all) > before

    try:
        short = [dies_after(0.0) for _ in range(hosting.MOST_SHORT_LIVES + 1)]
        assert all(short)
        assert dies_after(1000.0), "its short lives are forgotten"
        short = [dies_after(0.0) for _ in range(hosting.MOST_SHORT_LIVES + 1)]
        assert short[:-1] == [True] * hosting.MOST_SHORT_LIVES
        assert not short[-1], "one that only dies is given up"
    finally:
        host.end(at_once=True)


def test_why_there_is_no_controller_is_told_to_whoever_has_asked(tmp_path: Path) -> None:
    host = Host(tmp_path, print, {})
    try:
        ask(tmp_path, 0, {"workers": 1, "policy": "no-such"})
        assert answered(host, tmp_path).startswith("!Unknown policy 'no-such'.")
    finally:
        host.end(at_once=True)
