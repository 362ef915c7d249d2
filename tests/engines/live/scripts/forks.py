"""Several workers out of one process, as `tailcut launch` would start them, but torch is loaded once for all.

    forks.py WORKERS FOLDER SCRIPT ARGUMENT…

What worker k says on standard error goes to FOLDER/k.err; exit codes are printed.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

import torch
import zmq

import tailcut

LOADED = (torch.optim.SGD, tailcut.Optimizer, zmq.Context)


def worker(place: int, folder: str, script: list[str]) -> None:
    said = os.open(Path(folder) / f"{place}.err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 2)
    os.environ |= {"RANK": str(place), "LOCAL_RANK": str(place)}
    sys.argv = script
    runpy.run_path(script[0], run_name="__main__")


if __name__ == "__main__":
    workers, folder, *script = sys.argv[1:]
    children = []
    for place in range(int(workers)):
        child = os.fork()
        if not child:
            # Exit like a program: an error is shown, noted, and sets the exit code.
            worker(place, folder, script)
            sys.exit()
        children.append(child)
    print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
