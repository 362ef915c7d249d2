"""File descriptors: how many are in use, and one warning before they run out."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
from contextlib import ExitStack

import pytest

from tailcut.engines.live import descriptors
from tailcut.engines.live.descriptors import (
    MAX_RAISED,
    DescriptorWatch,
    limit,
    listening_ports,
    raise_limit,
    used,
)
from waiting import limit as seconds


def test_a_warning_is_said_once_and_names_ports_and_remedy() -> None:
    said, counts = list[str](), iter([49, 50, 99])
    watch = DescriptorWatch(
        "Worker 3", said.append, count=lambda: next(counts), most=lambda: 100, ports=lambda: [7, 9]
    )
    watch.look(0.0)
    watch.look(0.5)
    assert not said
    watch.look(1.0)
    watch.look(2.0)
    assert said == [
        "Worker 3 has 50 of 100 file descriptors in use. When none is left, it fails. Each connection that a stranger "
        "makes to ports 7, 9 may cost one: let a firewall admit only the machines of the run. Raise the "
        "limit (ulimit -n)."
    ]
    assert next(counts) == 99, "nobody looks any more"


def test_nothing_is_said_where_there_is_no_limit() -> None:
    said = list[str]()
    DescriptorWatch("Worker 3", said.append, count=lambda: 10_000, most=lambda: 0).look(0.0)
    assert not said


def test_those_in_use_are_counted() -> None:
    with ExitStack() as stack:
        opened = [stack.enter_context(socket.socket()).fileno() for _ in range(50)]
        assert used() > max(opened) >= 50


LEFT = """
import os, resource
from tailcut.engines.live.descriptors import limit, raise_limit, used
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 200))
raise_limit()
print(limit())
kept = []
try:
    while True:
        kept.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    print(used())
"""


def test_the_limit_is_raised_to_what_is_allowed_and_none_left_is_all_in_use() -> None:
    command = [sys.executable, "-c", LEFT]
    said = subprocess.run(command, capture_output=True, text=True, timeout=seconds(60), check=True).stdout
    assert said.split() == ["200", "200"]


@pytest.mark.parametrize(
    ("soft", "hard", "raised"),
    [
        (64, 1024, 1024),
        (64, resource.RLIM_INFINITY, MAX_RAISED),
        (64, 1 << 30, MAX_RAISED),
        (1 << 20, 1 << 20, None),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, None),
    ],
)
def test_how_far_it_is_raised(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, raised: int | None
) -> None:
    asked = list[tuple[int, int]]()
    monkeypatch.setattr(resource, "getrlimit", lambda which: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda which, limits: asked.append(limits))
    raise_limit()
    assert asked == ([] if raised is None else [(raised, hard)])
    assert limit() == (0 if soft == resource.RLIM_INFINITY else soft)


def test_the_ports_that_a_process_listens_on_are_found() -> None:
    before = listening_ports()
    with socket.socket() as one, socket.socket(socket.AF_INET6) as other, socket.socket() as idle:
        one.bind(("127.0.0.1", 0))
        other.bind(("::1", 0))
        idle.bind(("127.0.0.1", 0))
        one.listen()
        other.listen()
        ports = {one.getsockname()[1], other.getsockname()[1]}
        assert set(listening_ports()) - set(before) == ports
        assert set(listening_ports(os.getpid())) >= ports
    assert listening_ports() == before
    assert listening_ports(1 << 30) == []
    assert descriptors._warning("It", 1, 2, [5]).count("port 5 ") == 1
