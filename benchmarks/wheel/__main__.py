"""`python -m benchmarks.wheel`: the built wheel in real, empty environments; every command and public name.

Makes one environment for each set of extras with `venv` and `pip`, from the package index that pip is set up for. That
takes minutes, and a gigabyte for each environment with torch. `python -m benchmarks.wheel none live` tries only those.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.wheel.judge import Verdict, judge, modules_of
from benchmarks.wheel.rows import ENVIRONMENT, FILES, ROWS

ROOT = Path(__file__).parents[2]
SETS = {"none": (), "live": ("live",), "report": ("report",), "ray": ("ray",)}
LIMIT = 300.0
"""Seconds for one command."""


def main() -> int:
    """Make the environments, try all rows, print the table; 0 if all is as it should be."""
    chosen = sys.argv[1:] or list(SETS)
    if unknown := [name for name in chosen if name not in SETS]:
        print(f"There is no set {unknown[0]!r}. Name some of {', '.join(SETS)}.", file=sys.stderr)
        return 2
    table = Table("", *chosen)
    with TemporaryDirectory(prefix="tailcut-wheel-") as name:
        folder = Path(name)
        wheel = build_wheel(folder)
        columns = [_tried(folder / one, wheel, SETS[one]) for one in chosen]
    for row, *verdicts in zip(ROWS, *columns, strict=True):
        table.add_row(row.title, *(escape(v.told if v.is_right else f"WRONG: {v.told}") for v in verdicts))
    Console(width=180).print(table)
    return 0 if all(verdict.is_right for column in columns for verdict in column) else 1


def build_wheel(folder: Path) -> Path:
    """Build the wheel of this checkout into a folder."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = folder.glob("tailcut-*.whl")
    return wheel


def _tried(folder: Path, wheel: Path, extras: tuple[str, ...]) -> list[Verdict]:
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    named = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
    pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]
    python = folder / "bin" / "python"
    subprocess.run([python, *pip, "-c", str(ROOT / "constraints.txt"), named], check=True)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    verdicts = []
    for row in ROWS:
        command = [folder / "bin" / "tailcut", *row.arguments] if row.arguments else [python, "-c", row.code]
        ended = subprocess.run(
            command,
            cwd=folder,
            env=os.environ | ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
        verdicts.append(judge(row, modules_of(extras), ended.returncode, ended.stdout, ended.stderr))
        if not verdicts[-1].is_right:
            print(f"[{','.join(extras)}] {row.title}: {ended.returncode}\n{ended.stdout}{ended.stderr}")
    return verdicts


if __name__ == "__main__":
    sys.exit(main())
