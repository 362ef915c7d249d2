"""A real host: controllers that have lost their workers get successors, one after the other."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hub_scripts import applied, arrived, hello
from test_secured_run import hears

from tailcut.engines.live import hosting
from tailcut.engines.live.hosting import Host, answer, ask
from tailcut.engines.live.keys import found_key
from tailcut.engines.live.messages import Close, New
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
