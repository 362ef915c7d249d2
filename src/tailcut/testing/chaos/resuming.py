"""A run that is killed as a whole, again and again, and resumes from its checkpoints."""

from __future__ import annotations

import random
import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import final

from tailcut.testing.chaos.checker import check
from tailcut.testing.chaos.faults import Plan
from tailcut.testing.chaos.folder import Folder
from tailcut.testing.chaos.journals import lives
from tailcut.testing.chaos.processes import Process, controller_of, family
from tailcut.testing.chaos.run import LOOK, launched
from tailcut.testing.chaos.view import View
from tailcut.types import Seconds

_PUBLISHED = re.compile(r"v(\d+)\.safetensors")


@final
@dataclass(frozen=True, slots=True)
class Resumed:
    """One kill of all processes, and the start after it.

    Attributes:
        newest: newest version that a worker had reached.
        published: version of the newest checkpoint at that moment; 0 if there was none.
        began: version that the run resumed from; -1 if worker 0 made no update after it.
        seconds: seconds from the new start of worker 0 to its first update.
    """

    newest: int
    published: int
    began: int
    seconds: Seconds


@final
@dataclass(frozen=True, slots=True)
class Resumes:
    """The result of all kills, and the violations that were found."""

    times: tuple[Resumed, ...]
    violations: tuple[str, ...]


def killed_again_and_again(plan: Plan, root: Path, times: int, most: int, limit: Seconds) -> Resumes:
    """Kill all processes repeatedly, each time after a random number of updates; then finish the run.

    Args:
        plan: a plan with checkpoints and a total.
        root: folder of the run, which does not exist yet.
        times: number of kills.
        most: largest number of updates from a start to the kill.
        limit: longest time for each start, in seconds.
    """
    folder, chances = Folder(root), random.Random(plan.seed)
    folder.prepare(plan)
    found, problems = list[tuple[int, int]](), list[str]()
    for number in range(times + 1):
        last = number == times
        updates, delay = chances.randint(1, most), chances.uniform(0.0, 0.2)
        with launched(plan, folder) as (launcher, known):
            why, newest = _one(plan, folder, launcher, known, None if last else (updates, delay), limit)
        if why:
            problems.append(why)
            break
        if not last:
            found.append((newest, _published(folder.kept)))
    begun = _begun(folder)
    resumed = [
        Resumed(newest, published, *begun.get(number + 1, (-1, 0.0)))
        for number, (newest, published) in enumerate(found)
    ]
    problems += [
        f"After version {each.newest}, with a checkpoint of version {each.published}, it went on from {each.began}."
        for each in resumed
        if each.began != each.published
    ]
    return Resumes(tuple(resumed), (*problems, *check(folder.journals).violations))


def _one(
    plan: Plan,
    folder: Folder,
    launcher: subprocess.Popen[bytes],
    known: set[Process],
    until: tuple[int, Seconds] | None,
    limit: Seconds,
) -> tuple[str, int]:
    """Watch one start; return what was wrong with it, empty if nothing, and the newest version."""
    view, began = View(folder, plan.workers), time.monotonic()

    def wait(done: Callable[[], bool]) -> bool:
        while time.monotonic() < began + limit and launcher.poll() is None and not done():
            here = family(launcher.pid)
            known.update(here)
            view.look(time.monotonic(), controller_of(launcher.pid, view.controller), here)
            time.sleep(LOOK)
        return done()

    if until is None:
        if not wait(lambda: launcher.poll() is not None):
            return f"The last start did not come to an end in {limit:g} s.", view.newest
        return (
            f"The launcher ended with exit code {launcher.returncode}." if launcher.returncode else ""
        ), view.newest
    updates, delay = until
    if not wait(lambda: view.updates >= updates):
        if launcher.returncode is not None:
            return (
                f"A start ended with exit code {launcher.returncode} before {updates} updates.",
                view.newest,
            )
        return f"A start did not come to {updates} updates in {limit:g} s.", view.newest
    time.sleep(delay)
    view.look(time.monotonic(), None, family(launcher.pid))
    return "", view.newest


def _published(kept: Path) -> int:
    """Return the version of the newest checkpoint; 0 if there is none."""
    names = (_PUBLISHED.fullmatch(path.name) for path in kept.glob("*.safetensors"))
    return max((int(match[1]) for match in names if match), default=0)


def _begun(folder: Folder) -> dict[int, tuple[int, Seconds]]:
    """Return, by the life of worker 0, the version it began at and the seconds until its first update."""
    found: dict[int, tuple[int, Seconds]] = {}
    for life in lives(folder.journals):
        begun = next((line for line in life.lines if line.what == "begun"), None)
        if life.worker == 0 and begun is not None and life.applied:
            found[life.number] = begun.version, life.applied[0].at - life.began
    return found
