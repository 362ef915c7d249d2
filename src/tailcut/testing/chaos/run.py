"""Carries out a plan: a run under `tailcut launch` with its faults, up to its end or a time limit."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from tailcut.testing.chaos.bugs import planted
from tailcut.testing.chaos.checker import Verdict, check
from tailcut.testing.chaos.disk import small_disk
from tailcut.testing.chaos.faults import Plan
from tailcut.testing.chaos.folder import Folder
from tailcut.testing.chaos.processes import Process, Use, controller_of, end, family, use_of
from tailcut.testing.chaos.striking import Striking
from tailcut.testing.chaos.view import View
from tailcut.types import Seconds

JOB = Path(__file__).with_name("job.py")
LOOK: Seconds = 0.02
STANDSTILL: Seconds = 40.0
"""Seconds without a new version after which a run is given up."""
RESTARTS: Seconds = 120.0
"""The same limit where all workers may be killed: all load torch again at once, after growing pauses."""
LEAVE_IN = 15
"""Versions from the last fault to the end of the run."""


@final
@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a run.

    Attributes:
        folder: folder of the run.
        code: exit code of the launcher; None if the run was given up.
        why: why the run was given up, as a sentence; empty if it was not.
        seconds: duration of the run, in seconds.
        missed: number of faults that never struck.
        left: number of processes that outlived the launcher, and were killed.
        uses: resources of each process, by its role, while all workers took part: seconds since the start,
            and use.
    """

    folder: Folder
    code: int | None
    why: str
    seconds: Seconds
    missed: int
    left: int
    uses: dict[str, list[tuple[Seconds, Use]]] = field(default_factory=dict)

    @property
    def violations(self) -> list[str]:
        """The violations seen from outside, without the journals; one sentence each."""
        found = [self.why] if self.why else []
        if self.code:
            found.append(f"The launcher ended with exit code {self.code}: {self.last_words}")
        if self.left:
            found.append(f"{self.left} processes had outlived the run.")
        return found

    @property
    def last_words(self) -> str:
        """The last lines that the processes printed."""
        lines = self.folder.said.read_text(errors="replace").strip().splitlines()
        return " / ".join(lines[-3:])[-600:]

    def verdict(self) -> Verdict:
        """Return the checker's verdict on the journals."""
        return check(self.folder.journals)


def carry_out(
    plan: Plan, root: Path, limit: Seconds, tell: Callable[[str], None] = lambda text: None
) -> Ended:
    """Run a plan in a folder that does not exist yet, for at most `limit` seconds."""
    folder = Folder(root)
    folder.prepare(plan)
    fills = any(fault.deed == "fill" for fault in plan.faults)
    with small_disk(folder.disk) if fills else nullcontext(), launched(plan, folder) as (launcher, known):
        return _seen_through(plan, folder, launcher, limit, known, tell)


@contextmanager
def launched(plan: Plan, folder: Folder) -> Iterator[tuple[subprocess.Popen[bytes], set[Process]]]:
    """Give the launcher of a run, and the set of its known processes, which are killed at the end."""
    with folder.said.open("ab") as said:
        launcher = subprocess.Popen(
            _command(plan, folder.root),
            env=_environment(plan, folder.root),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        known = {Process.now(launcher.pid)}
        try:
            yield launcher, known
        finally:
            known.update(_family(launcher))
            end(known)
            launcher.wait()


def _family(launcher: subprocess.Popen[bytes]) -> list[Process]:
    """Return the launcher and all its descendants; none if its exit code was already read."""
    return family(launcher.pid) if launcher.returncode is None else []


def _command(plan: Plan, root: Path) -> list[str]:
    launch = [sys.executable, "-m", "tailcut.cli", "launch", "-n", str(plan.workers)]
    return [*launch, "--restarts", str(plan.restarts), str(JOB), str(root)]


def _environment(plan: Plan, root: Path) -> dict[str, str]:
    """Return the environment of all processes of the run, with the bug if the plan names one."""
    ours = {
        "OMP_NUM_THREADS": "1",
        "TAILCUT_CHAOS": str(root),
        "TAILCUT_SHARED_MEMORY": "on" if plan.shared else "off",
    }
    return os.environ | ours | (planted(plan.bug, root) if plan.bug else {})


def _seen_through(
    plan: Plan,
    folder: Folder,
    launcher: subprocess.Popen[bytes],
    limit: Seconds,
    known: set[Process],
    tell: Callable[[str], None],
) -> Ended:
    began = time.monotonic()
    view = View(folder, plan.workers)
    striking = Striking(plan, folder, tell)
    uses: dict[str, list[tuple[Seconds, Use]]] = {}
    announced, why = False, ""
    while launcher.poll() is None:
        now = time.monotonic()
        here = _family(launcher)
        known.update(here)
        view.look(now, controller_of(launcher.pid, view.controller), here)
        striking.look(view, now)
        if view.is_calm:
            _note_uses(uses, view, launcher.pid, now - began)
        done = striking.over and striking.is_settled(view, now)
        if done and not announced and plan.total is None:
            folder.announce_end(view.newest + LEAVE_IN)
            announced = True
        why = _given_up(view, now, began, limit, STANDSTILL if plan.spares_holders else RESTARTS)
        if why:
            break
        time.sleep(LOOK)
    seconds = time.monotonic() - began
    striking.close()
    time.sleep(0.0 if why else 0.5)
    left = [process for process in known if process.pid != launcher.pid and process.is_alive]
    code = launcher.poll()
    return Ended(folder, code, why, seconds, striking.missed, 0 if why else len(left), uses)


def _given_up(view: View, now: Seconds, began: Seconds, limit: Seconds, standstill: Seconds) -> str:
    if now - began > limit:
        return f"The run took longer than {limit:g} s and was given up at version {view.newest}."
    if now - max(view.moved, began) > standstill:
        return f"The run stood still at version {view.newest} for {standstill:g} s and was given up."
    return ""


def _note_uses(
    uses: dict[str, list[tuple[Seconds, Use]]], view: View, launcher: int, passed: Seconds
) -> None:
    pids = {"launcher": launcher, **{f"worker {worker}": pid for worker, pid in view.pids.items()}}
    if view.controller is not None:
        pids["controller"] = view.controller
    for role, pid in pids.items():
        noted, used = uses.setdefault(role, []), use_of(pid)
        if used is not None and (not noted or passed - noted[-1][0] >= 1.0):
            noted.append((passed, used))
