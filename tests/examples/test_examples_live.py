"""The live examples run, and the step from plain DDP to tailcut is a small one."""

from __future__ import annotations

import difflib
import runpy
import sys
from functools import partial
from pathlib import Path

import pytest

from tailcut.engines.live.train.processes import in_processes

EXAMPLES = Path(__file__).parents[2] / "examples" / "live"
PRELOAD = ("torch._dynamo", "tailcut.engines.live.worker.optimizer")
MOST_CHANGED = 8


def run(script: str, out: str, *arguments: str) -> None:
    """In a process of its own: the example, as if it had been started with these arguments."""
    sys.argv = [script, *arguments]
    with Path(f"{out}.{Path(script).stem}").open("a", buffering=1, encoding="utf-8") as sys.stdout:
        runpy.run_path(str(EXAMPLES / script), run_name="__main__")


def printed(folder: Path, script: str, *arguments: str) -> str:
    assert in_processes(partial(run, script, str(folder / "out"), *arguments), 2, PRELOAD) == 0
    return (folder / f"out.{Path(script).stem}").read_text(encoding="utf-8")


def test_tailcut_changes_at_most_eight_lines_of_a_ddp_script() -> None:
    before, after = (
        (EXAMPLES / name).read_text().splitlines() for name in ("plain_ddp.py", "with_tailcut.py")
    )
    blocks = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    changed = sum(max(b - a, d - c) for kind, a, b, c, d in blocks if kind != "equal")
    assert 1 <= changed <= MOST_CHANGED


@pytest.mark.parametrize("script", ["plain_ddp.py", "with_tailcut.py"])
def test_both_of_them_learn(tmp_path: Path, script: str) -> None:
    told = printed(tmp_path, script, "--updates", "40")
    loss = float(told.split()[1])
    assert loss < 1.5  # Guessing has 2.3.
    assert told.endswith("after 40 updates\n")


def test_the_net_on_images_learns_and_is_the_same_everywhere(tmp_path: Path) -> None:
    told = printed(tmp_path, "cnn.py", "--updates", "12", "--samples", "600", "--batch", "16").splitlines()
    assert len(told) == 2
    assert len({line.partition(": ")[2] for line in told}) == 1
    assert float(told[0].split()[2]) > 30.0


def test_the_language_model_learns(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("abcd" * 500)
    told = printed(
        tmp_path,
        "characters.py",
        *("--file", str(text), "--updates", "40", "--batch", "4", "--length", "16", "--width", "32"),
    )
    assert float(told.splitlines()[-1].split()[0]) < 3.0  # Knowing nothing costs 7.
    assert "it writes: def " in told
