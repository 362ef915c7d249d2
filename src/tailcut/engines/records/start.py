"""The listeners that a run was asked to have."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tailcut.engines.records.asked import Asked, read_asked
from tailcut.engines.records.files import RunFolder
from tailcut.engines.records.listener import Guarded, Listener, Several
from tailcut.engines.records.read import hand_on
from tailcut.engines.records.run_files import RunFiles
from tailcut.engines.records.scalars import Scalars
from tailcut.engines.records.straggling import Straggling
from tailcut.errors import InputError
from tailcut.events import Settle
from tailcut.types import RoundRecord, Seconds


def asked_now(
    policy: str, rate: str, late: str, workers: int, total: int | None, clock: Callable[[], Seconds]
) -> Asked:
    """Return the settings of a run whose controller is this process, and which begins now."""
    return Asked(
        policy=policy,
        rate=rate,
        late=late,
        workers=workers,
        total=total,
        tailcut=_version(),
        started=datetime.now().astimezone().isoformat(timespec="milliseconds"),
        clock=clock(),
        host=socket.gethostname(),
        process=os.getpid(),
    )


def listeners(
    asked: Asked,
    journal: Path | None,
    tensorboard: Path | None,
    say: Callable[[str], None],
    more: Sequence[Listener] = (),
    goes_on: bool = False,
) -> Listener:
    """Return a listener that tells all listeners of a run; a folder that cannot be written is refused here.

    Args:
        asked: the settings of the run.
        journal: folder to record the run in; None for nowhere.
        tensorboard: folder for scalars; None for none.
        say: is called with sentences for the user.
        more: further listeners.
        goes_on: whether the run was recorded by another controller before, in the same folder.

    Raises:
        InputError: a folder cannot be written, or holds a run already.
        MissingExtraError: scalars are wanted and TensorBoard is not installed.
    """
    each: list[Listener] = list(more)
    if tensorboard is not None:
        scalars = Scalars(tensorboard, asked.clock)
        each.append(Guarded(scalars, f"Writing TensorBoard's scalars to {tensorboard}", say))
    if journal is not None:
        folder = RunFolder(journal)
        if goes_on:
            asked = read_asked(folder.run)
        files = RunFiles(folder, asked, goes_on=goes_on)
        straggling = Straggling(folder, asked.workers, say)
        if goes_on:
            _count(journal, files, straggling)
        each.append(Guarded(files, f"The record of the run in {journal}", say))
        each.append(Guarded(straggling, f"The report in {journal}", say))
    return Several(each)


def _count(journal: Path, files: RunFiles, straggling: Straggling) -> None:
    """Tell both listeners what earlier controllers have recorded."""

    def known(line: RoundRecord | Settle) -> None:
        files.known(line)
        straggling.known(line)

    try:
        hand_on(journal, known)
    except InputError:
        files.hand_over()
        raise


def _version() -> str:
    """Return the version of the installed package; a source tree on the path has none."""
    try:
        return version("tailcut")
    except PackageNotFoundError:
        return "not installed"
