"""The start of the program: its version, its completions, Ctrl-C before it has begun, a closed output."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from conftest import Cli
from waiting import limit

PROGRAM = [sys.executable, "-m", "tailcut"]
INTERRUPTED_AT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
del sys.argv[0]
wanted, sys.argv[0] = sys.argv[0], "tailcut"
class Interrupts:
    def find_spec(self, name, *_):
        if name == wanted:
            del sys.meta_path[0]
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupts())
from tailcut.__main__ import main
main()
"""


def ran(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=limit(100.0),
        check=False,
    )


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("numpy", ["policies"]),
        ("torch", ["train", "--workers", "1"]),
        ("torch", ["launch", "-n", "1", __file__]),
    ],
)
def test_ctrl_c_while_something_is_imported_is_answered_in_one_sentence(
    module: str, arguments: list[str], tmp_path: Path
) -> None:
    ended = ran([sys.executable, "-c", INTERRUPTED_AT, module, *arguments], TMPDIR=str(tmp_path))
    assert (ended.returncode, ended.stdout) == (130, "")
    assert ended.stderr.startswith("tailcut: Interrupted; nothing ")
    assert len(ended.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_while_arguments_are_read_is_answered_in_one_sentence(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("typer.core.TyperGroup.make_context", interrupted)
    ended = cli("policies")
    assert (ended.code, ended.err) == (130, "tailcut: Interrupted; nothing more was computed.\n")


def test_the_program_answers_ctrl_c_before_it_imports_anything_that_takes_time() -> None:
    # Without PYTHONPATH, where tests put something that every process imports.
    found = ran([*PROGRAM[:1], "-X", "importtime", "-c", "import tailcut.__main__"], PYTHONPATH="").stderr
    imported = {line.rpartition("|")[2].strip() for line in found.splitlines()}
    assert "signal" in imported
    assert not {"typing", "contextlib", "typer", "numpy"} & (imported - {"_typing"})


def test_the_version_is_shown(cli: Cli) -> None:
    ended = cli("--version")
    assert (ended.code, ended.out, ended.err) == (0, f"tailcut {version('tailcut')}\n", "")


def test_a_shell_is_told_how_commands_are_completed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))
    ended = cli("--show-completion")
    assert (ended.code, ended.err) == (0, "")
    assert "_TAILCUT_COMPLETE=complete_bash" in ended.out


def test_commands_and_options_are_completed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TAILCUT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_CWORD", "1")
    monkeypatch.setenv("COMP_WORDS", "tailcut la")
    assert cli().out.split() == ["launch"]
    monkeypatch.setenv("COMP_CWORD", "2")
    monkeypatch.setenv("COMP_WORDS", "tailcut launch --re")
    assert cli().out.split() == ["--restarts"]


def test_what_cannot_be_printed_because_output_is_closed_is_an_error() -> None:
    ended = ran(["sh", "-c", f"'{sys.executable}' -m tailcut policies >&-"])
    assert ended.returncode == 1
    (sentence,) = ended.stderr.splitlines()
    assert sentence.startswith("tailcut: The output cannot be written (standard output is closed).")
