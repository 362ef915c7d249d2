"""Checks of arguments that several commands share; impossible values are refused before any work is done."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Collection
from pathlib import Path
from tempfile import TemporaryFile

from tailcut.errors import ParameterError
from tailcut.extras import require


def at_least(name: str, value: int, least: int) -> None:
    """Refuse an option whose value is below `least`."""
    if value < least:
        raise ParameterError(f"--{name} must be at least {least}, but got {value}. Try --{name} {least}.")


def check_sampling(seeds: int, rounds: int | None, warmup: int | None) -> None:
    """Refuse impossible numbers of samples and rounds."""
    at_least("seeds", seeds, 1)
    if rounds is not None:
        at_least("rounds", rounds, 2)
    if warmup is not None:
        at_least("warmup", warmup, 0)


def check_jobs(jobs: int | None) -> None:
    """Refuse an impossible number of processes."""
    if jobs is not None:
        at_least("jobs", jobs, 1)


def listed(policies: str, always: Collection[str]) -> list[str]:
    """The policies named by `a,b,c`, each once.

    Args:
        policies: names separated by commas, as given on the command line.
        always: names that take part anyway; they may be named, and are left out of the result.
    """
    specs = list(dict.fromkeys(spec.strip() for spec in policies.split(",")))
    if "" in specs:
        raise ParameterError(
            f"--policies has an empty name in {policies!r}. Separate names by single commas."
        )
    return [spec for spec in specs if spec not in always]


def check_writable(path: Path) -> None:
    """Refuse, before any work is done, a page that cannot be written."""
    require("Drawing the page", "matplotlib")
    check_file("--report", path, "page.html")


def check_output(path: Path) -> None:
    """Refuse, before any work is done, a model file that cannot be written."""
    check_file("--output", path, "model.safetensors")


def check_file(option: str, path: Path, example: str) -> None:
    """Refuse, before any work is done, a file that cannot be written.

    Args:
        option: the option of the command line that names the file.
        path: the file.
        example: a name to suggest for a file of this kind.
    """
    folder = path.resolve().parent
    try:
        if path.is_dir():
            raise ParameterError(f"{option} {path} is a folder. Name a file in it, such as {path / example}.")
        if not folder.is_dir():
            raise ParameterError(f"{option} {path}: the folder {folder} does not exist. Create it first.")
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ParameterError(
            f"{option} {path} cannot be written ({error.strerror}). Name a file in another folder."
        ) from error


def command_line() -> str:
    """Return the command line as it was typed, to be shown on the page."""
    return shlex.join(["tailcut", *sys.argv[1:]])
