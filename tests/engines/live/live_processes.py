"""Worker processes for tests: a script in several of them, on this machine, bounded in time."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from waiting import limit

SCRIPTS = Path(__file__).parent / "scripts"
ROOT = Path(__file__).parents[3]
AT_MOST = 150.0


@dataclass(frozen=True)
class Ended:
    """The end of one worker: exit code and standard error."""

    code: int
    err: str

    @property
    def last(self) -> str:
        """The last line it said."""
        return (self.err.strip().splitlines() or [""])[-1]


def side_by_side(workers: int, folder: Path, script: str) -> list[Ended]:
    """Workers that run a script with the folder as its argument, and nobody who watches over them."""
    command = [sys.executable, SCRIPTS / "forks.py", workers, folder, SCRIPTS / script, folder]
    process = subprocess.Popen(
        list(map(str, command)),
        cwd=ROOT,
        env=_environment(workers),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        codes, _ = process.communicate(timeout=limit(AT_MOST))
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # its own group: it, its workers, their controllers
            process.wait()
    said = [(folder / f"{worker}.err").read_text() for worker in range(workers)]
    return [Ended(code, err) for code, err in zip(json.loads(codes), said, strict=True)]


def _environment(workers: int) -> dict[str, str]:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    return {
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ["PYTHONPATH"]]),
        "PATH": os.environ["PATH"],
        "OMP_NUM_THREADS": "1",
        "WORLD_SIZE": str(workers),
        "LOCAL_WORLD_SIZE": str(workers),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
