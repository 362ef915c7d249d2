"""The notebook runs in a real Jupyter kernel, and prints what is stored in it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from waiting import limit

NOTEBOOK = Path(__file__).parents[2] / "examples" / "live" / "notebook.ipynb"
EXECUTE = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=int(sys.argv[3]), kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
"""


def printed(path: Path) -> list[dict[str, str]]:
    """Return the output of each code cell by stream; any other output, such as a traceback, is an error."""
    cells: list[dict[str, Any]] = json.loads(path.read_text())["cells"]
    found = []
    for cell in (each for each in cells if each["cell_type"] == "code"):
        streams: dict[str, str] = {}
        for output in cell["outputs"]:
            assert output["output_type"] == "stream", output
            streams[output["name"]] = streams.get(output["name"], "") + "".join(output["text"])
        found.append(streams)
    return found


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    folder = tmp_path_factory.mktemp("notebook")
    # The kernel keeps its files in a folder of its own.
    homes = {name: str(folder / name.lower()) for name in ("HOME", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR")}
    done = subprocess.run(
        [sys.executable, "-c", EXECUTE, str(NOTEBOOK), str(folder / "executed.ipynb"), str(round(limit(90)))],
        cwd=folder,
        env=os.environ | homes | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=limit(120),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return printed(folder / "executed.ipynb")


def test_every_cell_prints_what_is_stored_in_the_notebook(executed: list[dict[str, str]]) -> None:
    def without_share(cells: list[dict[str, str]]) -> list[dict[str, str]]:
        return [{name: re.sub(r"\d+%", "…%", text) for name, text in cell.items()} for cell in cells]

    assert without_share(executed) == without_share(printed(NOTEBOOK))


def test_it_learns_and_says_that_it_trains_by_itself_in_one_sentence(executed: list[dict[str, str]]) -> None:
    _, first, second = executed
    assert first["stderr"].count("\n") == 1
    assert first["stderr"].startswith("tailcut: No launcher has started this process, so it trains by itself")
    assert first["stdout"].splitlines()[-1] == "epoch 2, version 36"
    [share] = re.findall(r"version 24: (\d+)% right", second["stdout"])
    assert int(share) > 80
