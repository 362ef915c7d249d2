"""The command line in this process: what it printed, how it ended, what it left in the folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest

from tailcut.cli import main

# A shell that starts tests in the background makes them, and what they start, deaf to interrupts.
HEARING = [
    sys.executable,
    "-c",
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from tailcut.cli import main; main()",
]
"""The command line in a process of its own that hears Ctrl-C."""


def has_members(group: int) -> bool:
    """Return whether a process group still has a process."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@dataclass(frozen=True)
class Ended:
    """The result of a command: exit code, standard output and standard error."""

    code: int
    out: str
    err: str


Cli: TypeAlias = Callable[..., Ended]
Refused: TypeAlias = Callable[..., str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The empty folder in which commands run, in a terminal of one width."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    return tmp_path


@pytest.fixture
def cli(folder: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run a command. Anything but an ordinary exit, a warning included, fails the test."""

    def run(*arguments: str) -> Ended:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main(arguments)
        printed = capsys.readouterr()
        code = end.value.code
        assert isinstance(code, int)
        return Ended(code, printed.out, printed.err)

    return run


@pytest.fixture
def refused(folder: Path, cli: Cli) -> Refused:
    """Run a command that must be refused as the rules say, and give back its sentence.

    One sentence on standard error, nothing on standard output, code 2, and no file written or changed.
    """

    def run(*arguments: str) -> str:
        before = _contents(folder)
        ended = cli(*arguments)
        assert ended.code == 2, ended
        assert ended.out == ""
        assert ended.err.startswith("tailcut: ")
        assert ended.err.endswith(".\n")
        assert len(ended.err.splitlines()) == 1
        assert "Traceback" not in ended.err
        assert _contents(folder) == before
        return ended.err

    return run


def _contents(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }
