"""A study on a machine that has torch, numpy and scipy but not all that the command line needs.

python -m benchmarks.bare_study FILE.toml FOLDER PROCESSES, with src on PYTHONPATH
"""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from unittest.mock import MagicMock

if importlib.util.find_spec("pyarrow") is None:
    # Only files of run times need it, and no study here reads any.
    for missing in ("pyarrow", "pyarrow.compute", "pyarrow.csv", "pyarrow.parquet"):
        sys.modules[missing] = MagicMock()

from tailcut import names  # noqa: E402
from tailcut.study.grid.config import read_study  # noqa: E402
from tailcut.study.grid.folder import Folder  # noqa: E402
from tailcut.study.grid.grid import Grid  # noqa: E402
from tailcut.study.grid.makers import Makers  # noqa: E402


def main(file: str, out: str, processes: str) -> None:
    begin = time.monotonic()
    path = Path(file)
    grid = Grid(
        read_study(path), Makers(names.task, names.source, names.entrant), Folder(Path(out)), int(processes)
    )
    grid.check()
    grid.folder.claim(path.read_text(encoding="utf-8"))

    def tell(what: str, done: int, total: int) -> None:
        print(f"{time.monotonic() - begin:6.0f} s  {what} {done} of {total}", flush=True)

    grid.carry_out(tell)


if __name__ == "__main__":
    main(*sys.argv[1:])
