"""The live examples run, and the step from plain DDP to tailcut is a small one."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from tailcut.engines.live.launch import launch

EXAMPLES = Path(__file__).parents[2] / "examples" / "live"
MOST_CHANGED = 8
BOUNDED = """
import faulthandler, runpy, sys
faulthandler.dump_traceback_later(80, exit=True)
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs a script; one that hangs ends, and says where."""


def printed(script: str, *arguments: str) -> str:
    lines: list[str] = []
    code = launch(["-c", BOUNDED, str(EXAMPLES / script), *arguments], 2, tell=lines.append)
    assert code == 0, lines
    return "\n".join(lines)


def test_tailcut_changes_at_most_eight_lines_of_a_ddp_script() -> None:
    before, after = (
        (EXAMPLES / name).read_text().splitlines() for name in ("plain_ddp.py", "with_tailcut.py")
    )
    blocks = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    changed = sum(max(b - a, d - c) for kind, a, b, c, d in blocks if kind != "equal")
    assert 1 <= changed <= MOST_CHANGED


@pytest.mark.parametrize("script", ["plain_ddp.py", "with_tailcut.py"])
def test_both_of_them_learn(script: str) -> None:
    told = printed(script, "--updates", "40")
    loss = float(told.split()[1])
    assert loss < 1.5  # Guessing has 2.3.
    assert told.endswith("after 40 updates")


def test_the_net_on_images_learns_and_is_the_same_everywhere() -> None:
    told = printed("cnn.py", "--updates", "12", "--samples", "600", "--batch", "16").splitlines()
    assert len(told) == 2
    assert len({line.partition(": ")[2] for line in told}) == 1
    assert float(told[0].split()[2]) > 30.0


def test_the_language_model_learns(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("abcd" * 500)
    told = printed(
        "characters.py",
        *("--file", str(text), "--updates", "40", "--batch", "4", "--length", "16", "--width", "32"),
    )
    assert float(told.splitlines()[-1].split()[0]) < 3.0  # Knowing nothing costs 7.
    assert "it writes: def " in told
