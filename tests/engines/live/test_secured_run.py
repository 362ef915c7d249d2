"""The live engine with a key: open to its holders alone; and what floods and thieves come to."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
import zmq
from hub_scripts import arrived, bye, hello
from test_controller_serve import Line, running, waiting
from test_keys import client

from tailcut.engines.live.controller.serve import Server, serve
from tailcut.engines.live.data.copies import CopyError, frames_of
from tailcut.engines.live.data.copying import room_for
from tailcut.engines.live.data.log import UpdateLog
from tailcut.engines.live.data.pulling import Puller, PullError, Wanted
from tailcut.engines.live.data.serving import UpdateServer
from tailcut.engines.live.data.updates import MOST_HEAD, START, Update, link
from tailcut.engines.live.keys import (
    FILE_NAME,
    NAME,
    Key,
    write_key,
)
from tailcut.engines.live.messages import Close, Copy, Free, New, Pull, Refused
from tailcut.engines.live.wire import encode
from tailcut.engines.live.worker.link import Link
from waiting import limit

AT_MOST = round(limit(60_000))
"""Milliseconds that a test waits before it fails."""
SHORTLY = 150
"""Milliseconds in which nothing must happen; what would happen takes one or two."""


def hears(link: Link, kind: type[object]) -> object:
    until = time.monotonic() + AT_MOST / 1000
    while (message := link.next(0.1)) is None:
        assert time.monotonic() < until, "no answer came"
    assert isinstance(message, kind), message
    return message


def test_a_controller_with_a_key_serves_its_workers_alone() -> None:
    key = Key.new()
    with running(waiting(workers=1), key=key) as run, Line(run.address) as stranger:
        stranger.say(hello(0, 1))
        with Link(run.address, Key.new()) as wrong, Link(run.address, key) as worker:
            wrong.send(hello(0, 1))
            worker.send(hello(0, 1))
            hears(worker, New)
            worker.send(arrived(0))
            hears(worker, Close)
            assert worker.is_connected
            assert not wrong.is_connected
            assert wrong.next(0.0) is None
            worker.send(bye(0))
            hears(worker, Free)
        assert run.end().why is None


@pytest.mark.parametrize(
    ("host", "with_key", "sentences"), [("0.0.0.0", False, 1), ("0.0.0.0", True, 0), ("127.0.0.1", False, 0)]
)
def test_a_controller_that_others_reach_without_a_key_says_so(
    host: str, with_key: bool, sentences: int
) -> None:
    said: list[str] = []
    heard: list[str] = []
    key = Key.new() if with_key else None
    serve(waiting(workers=1), f"tcp://{host}:0", heard.append, lambda: True, say=said.append, key=key)
    told = [each for each in said if "This run has no key" in each]
    assert len(told) == sentences
    assert all(heard[0] in each for each in told)


@pytest.mark.parametrize(
    ("ours", "theirs"), [(True, False), (False, True), (True, True)], ids=["no key", "a key", "another key"]
)
def test_a_worker_with_another_key_knows_that_it_is_turned_away(ours: bool, theirs: bool) -> None:
    key = Key.new() if ours else None
    with (
        running(waiting(workers=1), key=key) as run,
        Link(run.address, Key.new() if theirs else None) as link,
    ):
        assert not link.is_turned_away
        until = time.monotonic() + AT_MOST / 1000
        while not link.is_turned_away:
            assert time.monotonic() < until
            assert link.next(0.05) is None


def test_a_worker_without_a_controller_is_not_turned_away() -> None:
    with running(waiting(workers=1)) as run, Link(run.address) as link:
        link.send(hello(0, 1))
        hears(link, New)
        run.stopped.set()
        hears(link, Refused)
        run.end()
        until = time.monotonic() + AT_MOST / 1000
        while link.is_connected:
            assert time.monotonic() < until
            link.next(0.05)
        assert not link.is_turned_away


def test_a_flood_does_not_keep_the_controller_from_its_work() -> None:
    clock: list[float] = [0.0]
    looked: list[float] = []
    with zmq.Context() as context, context.socket(zmq.ROUTER) as router:
        router.setsockopt(zmq.RCVHWM, 0)
        router.bind("inproc://controller")
        with context.socket(zmq.DEALER) as flood:
            flood.setsockopt(zmq.SNDHWM, 0)
            flood.setsockopt(zmq.LINGER, 0)
            flood.connect("inproc://controller")
            for _ in range(5000):
                flood.send(encode(arrived(0)))
            server = Server(
                waiting(), router, 60.0, print, lambda: clock[0], look=lambda hub, now: looked.append(now)
            )
            server.turn()
            assert looked == []
            clock[0] = 1.5
            server.turn()
            assert looked == [1.5]
            server.close()


def test_the_hello_of_another_said_again_elsewhere_is_refused() -> None:
    """A holder of the key could record a Hello and replay it, to be taken for that worker."""
    with running(waiting(workers=1)) as run, Line(run.address) as worker, Line(run.address) as thief:
        worker.say(hello(0, 1))
        worker.hears(New)
        thief.say(hello(0, 1))
        assert thief.hears(Refused).why.startswith(
            "Place 0 is taken by process 100 on here, which is connected."
        )
        worker.say(arrived(0))
        assert worker.hears(Close).accepted == (0,)


def test_who_says_nothing_but_rubbish_is_not_listened_to_any_more() -> None:
    clock = [0.0]
    with running(waiting(workers=1), clock=lambda: clock[0]) as run, Line(run.address, at_once=True) as bad:
        for _ in range(100):
            bad.send(b"rubbish")
        bad.say(hello(0, 1))
        with Line(run.address) as worker:
            worker.say(hello(0, 1))
            worker.hears(New)
            worker.say(bye(0))
            worker.hears(Free)
        served = run.end()
    assert served.malformed + served.dropped == 101
    assert served.malformed == 20


def test_updates_of_every_size_come_through_the_seal() -> None:
    """The largest that fits without encryption must fit with it."""
    key, length = Key.new(), MOST_HEAD
    flat = torch.arange(float(length))
    update = Update(1, 1, 0, (0, 1), 1.0, 2, link(START, 1, 1, 0, (0, 1)), flat)
    log = UpdateLog()
    log.append(update)
    wanted = Wanted(range(1), START, 1, 1)
    with UpdateServer(log, key=key) as holder:
        with Puller(length, torch.float32, key) as puller:
            [found] = puller.pull(wanted, {0: holder.address}, timeout=10.0)
            assert torch.equal(found.flat, flat)
        for theirs in (None, Key.new()):
            with Puller(length, torch.float32, theirs) as stranger, pytest.raises(PullError):
                list(stranger.pull(wanted, {0: holder.address}, timeout=0.2))


def test_a_state_comes_through_the_seal_and_has_its_limit() -> None:
    key = Key.new()
    state: dict[str, Any] = {"net": torch.arange(5000.0), "more": [torch.ones(3), 7]}
    with UpdateServer(UpdateLog(), key=key) as holder, Puller(4, torch.float32, key) as puller:
        holder.offer(3, frames_of(state))
        asked = Copy(1, 1, 3)
        found = puller.copy(holder.address, asked, 10.0, lambda: False, room_for(state))
        assert torch.equal(found["net"], state["net"])
        size = sum(len(each) for each in frames_of(state))
        assert puller.copy(holder.address, asked, 10.0, lambda: False, size) is not None
        with pytest.raises(CopyError, match=f"A state of {size} bytes in 3 frames came; at most {size - 1}"):
            puller.copy(holder.address, asked, 10.0, lambda: False, size - 1)
        # One frame alone that is too large is not even received.
        with pytest.raises(PullError, match=r"gave no copy of its state for 0\.3 s"):
            puller.copy(holder.address, asked, 0.3, lambda: False, 1000)


def test_a_server_keeps_few_requests_of_one_peer() -> None:
    """The server answers a peer's requests for future updates beyond the first 64 at once; the 64 wait."""
    key = Key.new()
    with (
        UpdateServer(UpdateLog(), keep=30.0, key=key) as holder,
        client(holder.address, key) as greedy,
        client(holder.address, key) as modest,
    ):
        for version in range(80):
            greedy.send(encode(Pull(1, 1, version)))
        for _ in range(80 - 64):
            assert greedy.poll(AT_MOST)
            greedy.recv()
        assert not greedy.poll(SHORTLY)
        modest.send(encode(Pull(1, 1, 0)))
        assert not modest.poll(SHORTLY)


def test_the_controller_s_process_takes_its_key_from_the_environment(tmp_path: Path) -> None:
    key, path = Key.new(), tmp_path / "run.key"
    write_key(path, key)
    command = [sys.executable, "-m", "tailcut.cli", "controller", "--workers=1", "--policy=wait-all"]
    environment = {name: value for name, value in os.environ.items() if name != NAME} | {FILE_NAME: str(path)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        with Link(address, key) as worker, Link(address) as stranger:
            stranger.send(hello(0, 1))
            worker.send(hello(0, 1))
            hears(worker, New)
            worker.send(bye(0))
            hears(worker, Free)
            assert stranger.next(0.0) is None
        assert process.wait(AT_MOST / 1000) == 0
    path.chmod(0o644)
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=limit(100), check=False
    )
    assert done.returncode == 2
    assert "has mode 0644: others may have read it" in done.stderr
