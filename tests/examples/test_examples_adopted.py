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
        "ddp": "--iters 16 --eval-interval 8 --backend none",
        "tailcut": "--iters 16 --eval-interval 8 --backend eager --policy wait-all",
    },
    "gan": {"ddp": "--steps 60", "tailcut": "--steps 60 --policy wait-all"},
    "finetune": {"ddp": "--steps 30", "tailcut": "--steps 30 --policy wait-all"},
}
"""Command lines of the versions of each script."""
ONE_AFTER_THE_OTHER = """
import atexit, faulthandler, os, runpy, sys, warnings
import torch.distributed as dist
faulthandler.dump_traceback_later(float(sys.argv.pop(1)), exit=True)
warnings.simplefilter("ignore")
code = 1


def end():
    # DDP can hang when it lets its group go. So the process ends here, after what others do at the end.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


atexit.register(end)
dist.init_process_group("gloo")
dist.init_process_group = dist.destroy_process_group = lambda *_: None
for command in sys.argv[1:]:
    sys.argv = command.split(" ")
    runpy.run_path(sys.argv[0], run_name="__main__")
code = 0
"""
"""Runs scripts in one process, which imports torch and makes a group once. One that hangs ends, and says where."""


@pytest.fixture(scope="module")
def printed() -> dict[str, dict[str, list[list[str]]]]:
    """The words of the last lines of both workers, by version and script."""
    runs = [(version, name) for version in ("ddp", "tailcut") for name in SCRIPTS]
    scripts = [f"{EXAMPLES / name}_{version}.py {SCRIPTS[name][version]}" for version, name in runs]
    lines: list[str] = []
    assert launch(["-c", ONE_AFTER_THE_OTHER, str(limit(110)), *scripts], 2, tell=lines.append) == 0, lines
    ends = [line.split() for line in "\n".join(lines).splitlines() if line.startswith("rank ")]
    found: dict[str, dict[str, list[list[str]]]] = {"ddp": {}, "tailcut": {}}
    for n, (version, name) in enumerate(runs):
        found[version][name] = [[end for end in ends if end[1] == f"{rank}:"][n] for rank in range(2)]
    assert len(ends) == 2 * len(runs), lines
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
