"""Training scripts adopted from their DDP versions: few lines change, the loss stays, all replicas are the same."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from tailcut.engines.live.launch import launch
from waiting import limit

EXAMPLES = Path(__file__).parents[2] / "examples" / "live" / "adopted"
MAX_CHANGED = 12
"""Most lines that adopting a script changes."""
SCRIPTS = {
    "gpt": {
        "ddp": "--iters 30 --eval-interval 10 --backend none",
        "tailcut": "--iters 30 --eval-interval 10 --backend eager --policy wait-all",
    },
    "gan": {"ddp": "--steps 60", "tailcut": "--steps 60 --policy wait-all"},
    "finetune": {"ddp": "--steps 60", "tailcut": "--steps 60 --policy wait-all"},
}
"""Command lines of the versions of each script."""
ONE_AFTER_THE_OTHER = """
import faulthandler, os, runpy, sys, warnings
import torch.distributed as dist
faulthandler.dump_traceback_later(float(sys.argv.pop(1)), exit=True)
warnings.simplefilter("ignore")
dist.init_process_group("gloo")
dist.init_process_group = dist.destroy_process_group = lambda *_: None
for command in sys.argv[1:]:
    sys.argv = command.split(" ")
    runpy.run_path(sys.argv[0], run_name="__main__")
sys.stdout.flush()
if "_ddp" in command:
    os._exit(0)  # DDP can hang when it lets its group go.
"""
"""Runs scripts in one process, which imports torch and makes a group once. One that hangs ends, and says where."""


@pytest.fixture(scope="module")
def printed() -> dict[str, dict[str, list[list[str]]]]:
    """The words of the last lines of both workers, by version and script."""
    found = {}
    for version in ("ddp", "tailcut"):
        lines: list[str] = []
        scripts = [f"{EXAMPLES / name}_{version}.py {told[version]}" for name, told in SCRIPTS.items()]
        assert launch(["-c", ONE_AFTER_THE_OTHER, str(limit(110)), *scripts], 2, tell=lines.append) == 0, (
            lines
        )
        ends = [line.split() for line in "\n".join(lines).splitlines() if line.startswith("rank ")]
        assert len(ends) == 2 * len(SCRIPTS), lines
        found[version] = {name: ends[2 * n : 2 * n + 2] for n, name in enumerate(SCRIPTS)}
    return found


@pytest.mark.parametrize("name", SCRIPTS)
def test_few_lines_change(name: str) -> None:
    before, after = (
        (EXAMPLES / f"{name}_{version}.py").read_text().splitlines() for version in ("ddp", "tailcut")
    )
    blocks = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    changed = sum(max(b - a, d - c) for kind, a, b, c, d in blocks if kind != "equal")
    assert 1 <= changed <= MAX_CHANGED


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_loss_is_that_of_ddp(name: str, printed: dict[str, dict[str, list[list[str]]]]) -> None:
    (ddp, *_), (adopted, *_) = (printed[version][name] for version in ("ddp", "tailcut"))
    assert float(adopted[3].rstrip(",")) == pytest.approx(float(ddp[3].rstrip(",")), rel=0.01)


@pytest.mark.parametrize("name", SCRIPTS)
def test_all_replicas_are_the_same(name: str, printed: dict[str, dict[str, list[list[str]]]]) -> None:
    (one, other) = printed["tailcut"][name]
    assert {one[1], other[1]} == {"0:", "1:"}
    assert one[-1] == other[-1]
