"""A real host: controllers that have lost their workers get successors, one after the other."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hub_scripts import applied, arrived, bye, hello
from test_secured_run import hears

from tailcut.engines.live import hosting
from tailcut.engines.live.hosting import FOLDER, Host, answer, ask, is_over
from tailcut.engines.live.keys import found_key
from tailcut.engines.live.messages import Close, Free, New
from tailcut.engines.live.worker.inbox import Inbox, TooLateError
from tailcut.engines.live.worker.link import Link

AT_MOST = 40.0
"""Seconds; starting one takes two, beside other tests."""


def test_every_controller_that_is_deserted_has_a_successor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosting, "SETTLED", 0.0)
    said: list[str] = []
    host = Host(tmp_path, said.append, {})
    try:
        options = {"workers": 1, "policy": "wait-all", "journal": str(tmp_path / "run")}
        ask(tmp_path, 0, options)
        until = time.monotonic() + AT_MOST
        host.look(time.monotonic())
        address = str(answer(tmp_path, 0))
        # The second of them has waited to be it, loaded: its end must tell as much as the first one's.
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
            while not any(f"in term {term + 1}." in line for line in said):
                assert time.monotonic() < until, said
                host.look(time.monotonic())
    finally:
        host.end(at_once=True)


def test_where_a_controller_has_seen_its_run_out_nobody_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    host = Host(tmp_path, print, {})
    try:
        ask(tmp_path, 0, {"workers": 1, "policy": "wait-all"})
        until = time.monotonic() + AT_MOST
        host.look(time.monotonic())
        address = str(answer(tmp_path, 0))
        with Link(address, found_key(host.environment)) as line:
            line.send(hello(0, 1))
            hears(line, New)
            assert (host.is_over, is_over(address)) == (False, False)
            line.send(bye(0))
            hears(line, Free)
        while not is_over(address):
            assert time.monotonic() < until
            host.look(time.monotonic())
        assert host.is_over
        with Link(address, found_key(host.environment)) as line, pytest.raises(TooLateError, match="is over"):
            Inbox(line, AT_MOST, time.monotonic).next()
        assert host.came_late(os.getpid())
    finally:
        host.end(at_once=True)
