"""A run on two sides of a network whose connection is cut for a while; its workers are started one by one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import final

from tailcut.testing.chaos.checker import check
from tailcut.testing.chaos.faults import Plan
from tailcut.testing.chaos.folder import Folder
from tailcut.testing.chaos.journals import Life, lives
from tailcut.testing.chaos.network import ADDRESSES, Cable
from tailcut.testing.chaos.processes import Process, controller_of, end, family
from tailcut.testing.chaos.run import JOB, LEAVE_IN, LOOK
from tailcut.testing.chaos.view import View
from tailcut.types import Seconds

PORT = "29577"
"""Port of the store (MASTER_PORT), fixed because no other process uses the left namespace."""


@final
@dataclass(frozen=True, slots=True)
class Cut:
    """The result of a run whose connection was cut.

    Attributes:
        went_on: seconds from the cut until the controller's side applied an update without the others; None
            if never.
        by_themselves: updates that the other side applied while it was cut off, half a second after the cut and later.
        together: seconds from the repair until all workers of the other side had applied an update; None if
            never.
        violations: sentences of the checker, and about the run itself.
    """

    went_on: float | None
    by_themselves: int
    together: float | None
    violations: tuple[str, ...]


def cut_run(plan: Plan, root: Path, away: int, seconds: Seconds, limit: Seconds) -> Cut:
    """Run until all workers take part, cut the last few off for some seconds, and continue to the end.

    Args:
        plan: a plan without faults.
        root: folder of the run, which does not exist yet.
        away: number of workers on the other side.
        seconds: duration of the cut, in seconds.
        limit: longest time for the whole run, in seconds.
    """
    folder = Folder(root)
    folder.prepare(plan)
    running: list[subprocess.Popen[bytes]] = []
    with Cable() as cable, folder.said.open("wb") as said:
        try:
            for worker in range(plan.workers):
                side = "right" if worker >= plan.workers - away else "left"
                there = away if side == "right" else plan.workers - away
                running.append(
                    subprocess.Popen(
                        cable.command(side, [sys.executable, str(JOB), str(root)]),
                        env=_environment(worker, plan.workers, there),
                        stdin=subprocess.DEVNULL,
                        stdout=said,
                        stderr=subprocess.STDOUT,
                    )
                )
            until = time.monotonic() + limit
            times, why = _seen_through(plan, folder, running, cable, seconds, until)
        finally:
            end([each for process in running for each in _family(process)])
            codes = [process.wait() for process in running]
    return _judged(folder, plan, away, times, [why, *_failed(codes)] if why else _failed(codes))


def _environment(worker: int, workers: int, there: int) -> dict[str, str]:
    places = {"RANK": worker, "WORLD_SIZE": workers, "LOCAL_WORLD_SIZE": there, "MASTER_PORT": PORT}
    told = {name: str(value) for name, value in places.items()}
    return os.environ | told | {"MASTER_ADDR": ADDRESSES["left"], "OMP_NUM_THREADS": "1"}


def _seen_through(
    plan: Plan,
    folder: Folder,
    running: list[subprocess.Popen[bytes]],
    cable: Cable,
    seconds: Seconds,
    until: Seconds,
) -> tuple[list[Seconds], str]:
    """Return the clock's seconds of cut and repair, and what went wrong with the run; empty if nothing."""
    view, times = View(folder, plan.workers), list[Seconds]()

    def wait(done: Callable[[], bool]) -> bool:
        while time.monotonic() < until and any(process.poll() is None for process in running):
            known = {each for process in running for each in _family(process)}
            view.look(time.monotonic(), controller_of(running[0].pid, view.controller), known)
            if done():
                return True
            time.sleep(LOOK)
        return done()

    if not wait(lambda: view.is_calm and view.newest > 10):
        return times, "The run did not begin."
    cable.cut()
    times.append(time.monotonic())
    over = times[0] + seconds
    wait(lambda: time.monotonic() >= over)
    cable.mend()
    times.append(time.monotonic())
    before = view.newest
    if not wait(lambda: view.is_calm and view.newest > before + 10):
        return (
            times,
            f"Not all take part again after the cut: the run is at version {view.newest}, {view.versions}.",
        )
    folder.announce_end(view.newest + LEAVE_IN)
    if not wait(lambda: all(process.poll() is not None for process in running)):
        return times, f"The run did not end; it is at version {view.newest}."
    return times, ""


def _family(process: subprocess.Popen[bytes]) -> list[Process]:
    return family(process.pid) if process.returncode is None else []


def _failed(codes: list[int]) -> list[str]:
    return [f"Worker {worker} ended with exit code {code}." for worker, code in enumerate(codes) if code]


def _judged(folder: Folder, plan: Plan, away: int, times: list[Seconds], problems: list[str]) -> Cut:
    violations = (*problems, *check(folder.journals).violations)
    if len(times) < 2:
        return Cut(None, 0, None, violations)
    (cut, mended), found = times, lives(folder.journals)
    here = [life for life in found if life.worker < plan.workers - away]
    there = [life for life in found if life.worker >= plan.workers - away]
    without = [
        line.at
        for life in here
        for line in life.applied
        if line.at > cut and not set(line.accepted) & {each.worker for each in there}
    ]
    by_themselves = sum(cut + 0.5 < line.at < mended for life in there for line in life.applied)
    together = _all_again(there, mended)
    return Cut(min(without) - cut if without else None, by_themselves, together, violations)


def _all_again(there: list[Life], mended: Seconds) -> float | None:
    """Return the seconds from the repair until all these lives had applied an update; None if never."""
    firsts = [next((line.at for line in life.applied if line.at > mended), None) for life in there]
    known = [first for first in firsts if first is not None]
    return max(known) - mended if known and len(known) == len(firsts) else None
