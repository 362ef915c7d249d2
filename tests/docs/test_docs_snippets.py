"""Every piece of code on every page runs, in the order in which a reader meets it.

Launches of scripts that come one after the other on a page share one launch, whose processes load torch once.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from docs_markdown import PAGES, ROOT, Block, blocks, name_of

from tailcut.cli import main
from tailcut.study import parallel
from waiting import limit

NOT_RUN = {
    "make demo": "sets up an environment from the network, and trains for two minutes; tried briefly in tests/cli",
    "make demo-158": "sets up an environment from the network",
    "make test": "runs these tests",
    "make test-fast": "runs most of these tests",
    "make lint": "sets up an environment from the network",
    "make bench": "sets up an environment from the network, and takes minutes",
    "make bench-forecast": "sets up an environment from the network, and takes most of an hour",
    "make bench-live": "sets up an environment from the network, and wants an idle machine for a long time",
    "make prior": "takes ten minutes; tried with few clusters in tests/cli",
    "tailcut launch -n 4 examples/live/cnn.py --device cuda": "needs a GPU; without one in tests/examples",
    "torchrun --nnodes 2 --node-rank 0 --nproc-per-node 8 --master-addr node0 --master-port 29500 train.py": (
        "needs two machines; two launchers on one in two.sh, on the same page"
    ),
    "torchrun --nnodes 2 --node-rank 1 --nproc-per-node 8 --master-addr node0 --master-port 29500 train.py": (
        "the same"
    ),
    "tailcut launch -n 2 examples/live/with_tailcut.py": "in tests/examples, with fewer updates",
    "tailcut launch -n 2 examples/live/smallest.py": "under torchrun on the same page; other scripts on live.md",
    "tailcut train --engine ray --servers 2 --workers 2 --policy bayes --task logistic --updates 20 --journal run": (
        "with other figures in tests/cli/test_cli_train_ray.py"
    ),
    "tailcut compare demo8 --rounds 200 --seeds 1": "in the test of its figures, below",
    "kubectl create secret generic train-key --from-file=key=run.key": "needs Kubernetes",
}
NOT_RUN_FILES = {
    "train.sbatch": "needs Slurm; read by bash, and its options of torchrun checked, in test_docs_live.py",
    "workers.sbatch": "needs Slurm; likewise",
    "train.yaml": "needs Kubernetes; its variables checked in test_docs_live.py",
}
DATA = {"text", "csv", "json", "toml"}
SHOWN = {"diff"}
"""Held against what it shows in test_docs_live.py."""
TOOLS = ".venv/bin/"
LAUNCH = re.compile(r"tailcut launch -n 2 ((\w+\.py).*)")
ONE_AFTER_THE_OTHER = """
import runpy, sys
for command in sys.argv[1:]:
    print("$", command, flush=True)
    sys.argv = command.split()
    runpy.run_path(sys.argv[0], run_name="__main__")
"""


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    tools = Path(sys.executable).parent
    env = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    plain = command.replace(TOOLS, "")
    return subprocess.run(
        plain,
        shell=True,
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=limit(150),
        check=False,
    )


def in_this_process(arguments: list[str]) -> tuple[int, str]:
    """Run a command of tailcut without starting an interpreter; return its exit code and what it printed."""
    with (
        redirect_stdout(StringIO()) as out,
        redirect_stderr(StringIO()) as err,
        pytest.raises(SystemExit) as end,
    ):
        main(arguments)
    assert isinstance(end.value.code, int)
    return end.value.code, out.getvalue() + err.getvalue()


def run(command: str, folder: Path) -> tuple[int, str]:
    """Run a command of a page; return its exit code and what it printed.

    Commands of tailcut run in this process, which has loaded what they need, unless they need a package that the page
    installs: this process has looked for packages before.
    """
    program, *arguments = shlex.split(command)
    is_ours = program.removeprefix(TOOLS) == "tailcut" and not re.search(r"[|<>&;$*]", command)
    if is_ours and not list(folder.glob("*.dist-info")):
        return in_this_process(arguments)
    done = shell(command, folder)
    return done.returncode, done.stdout + done.stderr


def plain(text: str) -> str:
    return " ".join(text.split())


def commands(block: Block) -> list[tuple[str, str]]:
    """Each command of a console block with the output that is shown for it."""
    found = re.split(r"^\$ ", block.text, flags=re.M)
    assert not found[0].strip(), f"{block.place}: output before the first command"
    return [(part.partition("\n")[0].strip(), part.partition("\n")[2]) for part in found[1:]]


def check(place: str, command: str, shown: str, code: int, printed: str) -> None:
    """Hold what a command printed against what is shown for it."""
    wanted = 2 if shown.startswith("tailcut: ") else 0
    assert code == wanted, f"{place}: {command}\n{printed}"
    rest = plain(printed)
    for part in filter(None, map(str.strip, plain(shown).split("…"))):
        before, found, rest = rest.partition(part)
        assert found, f"{place}: {command} printed {before!r}, not {part!r}"


class Page:
    """The commands of a page, and those launches that wait for others to share their processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._launches: list[tuple[str, str, str]] = []

    def run_console(self, block: Block) -> None:
        """Run the commands of a block, except launches that can wait."""
        for command, shown in commands(block):
            if command.removeprefix(TOOLS) in NOT_RUN:
                continue
            launch = LAUNCH.fullmatch(command)
            # A script that makes a group of its own has processes of its own.
            if launch and "init_process_group" not in (self._folder / launch[2]).read_text():
                self._launches.append((block.place, command, shown))
                continue
            if launch is None:
                self.launch()
            check(block.place, command, shown, *run(command, self._folder))

    def launch(self) -> None:
        """Launch all scripts that wait, one after the other in the same processes."""
        waiting, self._launches = self._launches, []
        if not waiting:
            return
        (self._folder / "one_after_the_other.py").write_text(ONE_AFTER_THE_OTHER)
        scripts = [command.removeprefix("tailcut launch -n 2 ") for _, command, _ in waiting]
        code, printed = in_this_process(["launch", "-n", "2", "one_after_the_other.py", *scripts])
        assert code == 0, printed
        by_rank = [
            [line for line in printed.splitlines(keepends=True) if line.startswith(f"[rank {rank}] ")]
            for rank in range(2)
        ]
        told = [
            re.split(rf"^\[rank {rank}\] \$ .*\n", "".join(by_rank[rank]), flags=re.M) for rank in range(2)
        ]
        assert [len(each) for each in told] == [1 + len(waiting)] * 2, printed
        for number, (place, command, shown) in enumerate(waiting, 1):
            check(place, command, shown, code, "".join(each[number] for each in told))


def install(text: str, folder: Path) -> None:
    """Write the package metadata that an installation with this `pyproject.toml` would write."""
    info = folder / "snippets-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: snippets\nVersion: 1.0\n")
    groups = tomllib.loads(text)["project"]["entry-points"]
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in e.items()) for group, e in groups.items()]
    (info / "entry_points.txt").write_text("\n".join(lines))


def is_used(block: Block, page: Path) -> bool:
    """Return whether a file of a page is data, is used on the page, or is known not to be used."""
    assert block.file is not None
    if block.language in DATA or block.file in NOT_RUN_FILES:
        return True
    later = [
        other.text for other in blocks(page) if other.language in ("console", "python") and other != block
    ]
    return any(Path(block.file).stem in text for text in later)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_all_snippets_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    # This covers the processes that commands start.
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ['PYTHONPATH']}")
    # Work that would be spread over all cores stays in this process, which has loaded torch.
    monkeypatch.setattr(parallel, "cores", lambda: 1)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    known = set(sys.modules)
    namespace: dict[str, object] = {"__name__": "page"}
    commands_of_page = Page(tmp_path)
    for block in blocks(page):
        if block.file is not None:
            assert is_used(block, page), f"{block.place}: {block.file} is not run; say why"
            Path(block.file).write_text(block.text, encoding="utf-8")
            if block.file == "pyproject.toml":
                install(block.text, tmp_path)
        elif block.language == "python":
            exec(compile(block.text, block.place, "exec"), namespace)
        elif block.language == "console":
            commands_of_page.run_console(block)
        elif block.language == "bash":
            for line in block.text.splitlines():
                assert line.partition("#")[0].strip() in NOT_RUN, f"{block.place}: {line} is not run; say why"
        else:
            assert block.language in DATA | SHOWN, f"{block.place}: what is a block of {block.language!r}?"
    commands_of_page.launch()
    for name in set(sys.modules) - known:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_some_snippets_are_found() -> None:
    languages = [block.language for page in PAGES for block in blocks(page)]
    assert languages.count("python") >= 5
    assert languages.count("console") >= 8


def test_commands_that_are_not_run_are_targets_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = [command.removeprefix("make ") for command in NOT_RUN if command.startswith("make ")]
    assert len(targets) >= 8
    for target in targets:
        assert f"\n{target}:" in makefile


def test_all_that_is_not_run_is_on_a_page() -> None:
    lines = {
        line.partition("#")[0].strip().removeprefix("$ ").removeprefix(TOOLS)
        for page in PAGES
        for b in blocks(page)
        for line in b.text.splitlines()
    }
    files = {block.file for page in PAGES for block in blocks(page)}
    assert {command for command in NOT_RUN if not command.startswith("make ")} <= lines
    assert files >= NOT_RUN_FILES.keys()


def test_the_figures_of_the_readme_are_those_of_its_command() -> None:
    """The tolerance is 2 %, because another version of numpy may change a decision."""
    text = next(b.text for b in blocks(ROOT / "README.md") if b.language == "text" and "of clair-" in b.text)
    code, printed = in_this_process(["compare", "demo8", "--rounds", "200", "--seeds", "1"])
    assert code == 0, printed
    shown, found = (
        {name: (float(rate), float(share)) for name, rate, share in _ROW.findall(each)}
        for each in (text, printed)
    )
    assert len(shown) >= 5
    for name, figures in shown.items():
        assert figures == pytest.approx(found[name], rel=0.02), f"{name}: run the README's command again"
    (waiting, winner, points), (waiting_now, winner_now, points_now) = (
        re.findall(r"wait (\d+) % of the time; `(\S+)` would give back (\d+) points", each)[0]
        for each in (text, printed)
    )
    assert winner == winner_now
    assert abs(int(waiting) - int(waiting_now)) <= 1
    assert abs(int(points) - int(points_now)) <= 1


_ROW = re.compile(r"^([a-z-]+) +(\d+\.\d+) +(\d\.\d+) ", re.M)
