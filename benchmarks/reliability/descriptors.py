"""Strangers that connect to every port of a run, again and again, while each process may have few file descriptors."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from benchmarks.claims import Claim, print_table
from tailcut.engines.live.descriptors import listening_ports
from tailcut.testing.chaos.processes import Process, Use, end, family, use_of, words
from tailcut.types import Seconds

WORKERS, CONNECTIONS, DESCRIPTORS = 4, 10_000, 256
PATIENCE: Seconds = 120.0
CALM: Seconds = 1.0
"""Seconds that processes have to close connections whose other end is closed."""
MOST_LEFT = 5
"""File descriptors that a process may have gained: it opens and closes files of its own meanwhile."""
MOST_GROWTH = 1 << 24
"""Bytes of memory that a process may have gained."""
JOB = """
import sys, time
from pathlib import Path
import torch
import tailcut

folder = Path(sys.argv[1])
net = torch.nn.Linear(100, 10)
opt = tailcut.Optimizer(torch.optim.SGD(net.parameters(), lr=0.01), net, policy="wait-all", max_wait=600.0)
while not (opt.over or (folder / "end").exists()):
    opt.zero_grad()
    net(torch.randn(8, 100)).square().mean().backward()
    time.sleep(0.01)
    opt.step()
    if opt.worker == 0:
        (folder / "version.new").write_text(str(opt.version))
        (folder / "version.new").replace(folder / "version")
opt.close()
"""


@final
@dataclass(frozen=True, slots=True)
class Knocked:
    """The descriptors and memory of one process before and after connections.

    Attributes:
        who: kind of the process.
        port: port of the connections.
        failed: number of connections that failed.
        before, after: use of memory and files; None where the process had ended.
    """

    who: str
    port: int
    failed: int
    before: Use | None
    after: Use | None


@final
@dataclass(slots=True)
class Ended:
    """The end of the run.

    Attributes:
        code: exit code of the launcher.
        said: output of the launcher and its processes.
        updates: updates made during the connections.
        knocked: results by process and port.
    """

    code: int = -1
    said: str = ""
    updates: int = 0
    knocked: list[Knocked] = field(default_factory=list)


def main(times: int) -> list[Claim]:
    """Run and judge, once."""
    del times
    found = run(WORKERS, CONNECTIONS, DESCRIPTORS)
    columns = ("process", "port", "failed", "files before", "after", "memory before, MiB", "after")
    title = (
        f"{CONNECTIONS} connections to each port of a run, {DESCRIPTORS} file descriptors for each process"
    )
    print_table(title, columns, map(_row, found.knocked))
    if found.code:
        print(found.said)
    warned = run(2, DESCRIPTORS // 2, DESCRIPTORS, shares_memory=False, awaits=_have_warned)
    return [
        Claim(
            f"A run of {WORKERS} workers goes on beside {CONNECTIONS} connections to each of its ports, and ends well",
            f"{found.updates} updates meanwhile, exit code {found.code}",
            found.updates > 0 and not found.code and len(found.knocked) >= WORKERS + 2,
        ),
        Claim(
            f"No process keeps a descriptor, or memory beyond {MOST_GROWTH >> 20} MiB",
            ", ".join(f"{each.who} {_told(each)}" for each in found.knocked if not is_clean(each)) or "none",
            all(map(is_clean, found.knocked)),
        ),
        Claim(
            f"Where Gloo listens, each of 2 workers warns after {DESCRIPTORS // 2} connections",
            f"{warned.said.count(_WARNING)} of 2 do",
            _have_warned(warned.said) and not warned.code,
        ),
    ]


_WARNING = f"of {DESCRIPTORS} file descriptors in use"


def _have_warned(said: str) -> bool:
    return said.count(_WARNING) == 2


def run(
    workers: int,
    connections: int,
    descriptors: int,
    *,
    shares_memory: bool = True,
    awaits: Callable[[str], bool] = lambda said: True,
) -> Ended:
    """Run a job under `tailcut launch`, and connect to every port of each of its processes.

    Args:
        workers: number of workers.
        connections: number of connections to each port; each is closed at once.
        descriptors: limit of file descriptors of each process.
        shares_memory: whether the workers may add up gradients in shared memory.
        awaits: whether the output has what is awaited before the run is ended.
    """
    found = Ended()
    with (
        tempfile.TemporaryDirectory() as name,
        _launched(workers, Path(name), descriptors, shares_memory) as launcher,
    ):
        folder = Path(name)
        _until(lambda: _version(folder) > 0 or launcher.poll() is not None, "the run begins")
        _until(lambda: launcher.poll() is not None or _has_standby(launcher.pid), "all processes are there")
        first = _version(folder)
        if launcher.poll() is None:
            for process in family(launcher.pid):
                found.knocked += [
                    _knock(process.pid, port, connections) for port in listening_ports(process.pid)
                ]
        found.updates = _version(folder) - first
        said = folder / "said"
        _until(
            lambda: launcher.poll() is not None or awaits(said.read_text()), "the run says what is awaited"
        )
        (folder / "end").touch()
        found.code = launcher.wait(PATIENCE)
        found.said = said.read_text()
    return found


def is_clean(knocked: Knocked) -> bool:
    """Return whether the connections left no descriptors and no memory at a process."""
    before, after = knocked.before, knocked.after
    if before is None or after is None:
        return False
    return after.files <= before.files + MOST_LEFT and after.memory <= before.memory + MOST_GROWTH


def _knock(pid: int, port: int, connections: int) -> Knocked:
    who, before, failed = _who(pid), use_of(pid), 0
    for _ in range(connections):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5.0).close()
        except OSError:
            failed += 1
    until = time.monotonic() + CALM
    while (after := use_of(pid)) and before and after.files > before.files and time.monotonic() < until:
        time.sleep(0.05)
    return Knocked(who, port, failed, before, after)


def _who(pid: int) -> str:
    command = words(pid)
    kinds = {"launch": "launcher", "controller": "controller", "tailcut.standby": "controller"}
    return next((kind for word, kind in kinds.items() if word in command), "worker")


@contextmanager
def _launched(
    workers: int, folder: Path, descriptors: int, shares_memory: bool
) -> Iterator[subprocess.Popen[bytes]]:
    job = folder / "job.py"
    job.write_text(JOB)
    launch = [sys.executable, "-m", "tailcut.cli", "launch", "-n", str(workers), str(job), str(folder)]
    environment = {"OMP_NUM_THREADS": "1", "TAILCUT_SHARED_MEMORY": "on" if shares_memory else "off"}
    with (folder / "said").open("wb") as said:
        launcher = subprocess.Popen(
            ["bash", "-c", f"ulimit -n {descriptors}; exec {shlex.join(launch)}"],
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        known = {Process.now(launcher.pid)}
        try:
            yield launcher
        finally:
            known.update(family(launcher.pid) if launcher.returncode is None else [])
            end(known)
            launcher.wait()


def _has_standby(launcher: int) -> bool:
    """Return whether the standby controller is ready; from then on the launcher starts no more processes."""
    return any("tailcut.standby" in words(process.pid) for process in family(launcher))


def _version(folder: Path) -> int:
    try:
        return int((folder / "version").read_text())
    except FileNotFoundError:
        return 0


def _until(is_so: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > until:
            raise TimeoutError(f"{PATIENCE:g} s have passed before {what}.")
        time.sleep(0.05)


def _row(knocked: Knocked) -> list[str]:
    uses = [knocked.before, knocked.after]
    files = ["gone" if use is None else str(use.files) for use in uses]
    memory = ["gone" if use is None else f"{use.memory / (1 << 20):.1f}" for use in uses]
    return [knocked.who, str(knocked.port), str(knocked.failed), *files, *memory]


def _told(knocked: Knocked) -> str:
    return ", ".join(_row(knocked)[3:])
