"""A study's folder: its file names, and the runs of its tuning.

study.toml            the study, as it was given
tried.jsonl           one line per run of the tuning
tuned.json            the choices of the tuning, and why
models/               run-time models that were trained beforehand
runs/TASK/CLUSTER/ARM/SEED.jsonl
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tailcut.atomic import replacing
from tailcut.bounded_files import parse_json, read_lines, read_text
from tailcut.errors import InputError
from tailcut.study.grid.journal import read_journal
from tailcut.study.grid.run import Result
from tailcut.study.grid.setup import Place

_NAMES = ("task", "cluster", "arm", "policy")


@dataclass(frozen=True, slots=True)
class Try:
    """One run of the tuning: its place in the grid, and its result."""

    task: str
    cluster: str
    arm: str
    policy: str
    seed: int
    result: Result


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder of a study."""

    root: Path

    def claim(self, text: str) -> None:
        """Create the folder, or check that it is this study's.

        Raises:
            InputError: it holds another study.
        """
        file = self.root / "study.toml"
        if file.exists():
            if _text(file) != text:
                raise InputError(
                    f"{self.root} holds another study. Give another folder, or delete this one to begin anew."
                )
            return
        if self.root.exists() and any(self.root.iterdir()):
            raise InputError(f"{self.root} is not empty and holds no study. Give another folder.")
        self.root.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def journal(self, place: Place) -> Path:
        """Return the path of a run's journal."""
        parts = (slug(place.task), slug(place.cluster), slug(place.arm.name))
        return self.root.joinpath("runs", *parts, f"{place.seed}.jsonl")

    def is_done(self, place: Place, rate: float) -> bool:
        """Return whether the journal of the run exists, is complete, and has this policy and rate."""
        path = self.journal(place)
        if not path.exists():
            return False
        try:
            journal = read_journal(path)
        except InputError:
            # A run with a damaged journal is repeated.
            return False
        return journal.end is not None and (journal.head.policy, journal.head.rate) == (place.policy, rate)

    def model(self, cluster: str, mixture: bool = False) -> Path:
        """Return the path of a run-time model trained on a cluster, with one law per worker or a mixture."""
        kind = "-mixture" if mixture else ""
        return self.root / "models" / f"{slug(cluster)}{kind}.safetensors"

    def note(self, tries: list[Try]) -> None:
        """Append runs of the tuning."""
        with (self.root / "tried.jsonl").open("a", encoding="utf-8") as file:
            for one in tries:
                told = asdict(one)
                told.update(told.pop("result"))
                told["seconds"] = None if told["seconds"] == float("inf") else told["seconds"]
                file.write(json.dumps(told) + "\n")

    def tried(self) -> list[Try]:
        """Return the runs of the tuning so far; damaged lines are skipped, and their runs repeated."""
        path = self.root / "tried.jsonl"
        if not path.exists():
            return []
        found = []
        try:
            for line in read_lines(path):
                with suppress(ValueError, TypeError, LookupError, ArithmeticError):
                    found.append(_try(parse_json(line)))
        except OSError as problem:
            raise _unreadable(path, problem) from problem
        return found

    def write_tuned(self, chosen: Mapping[str, Any]) -> None:
        """Write the choices of the tuning."""
        with replacing(self.root / "tuned.json") as file:
            file.write(json.dumps(chosen, indent=1).encode())


def slug(name: str) -> str:
    """Return a name as part of a path."""
    plain = re.sub(r"[^A-Za-z0-9._=,+~-]+", "_", name)
    # Different names must have different slugs, and none may be too long for a file.
    return plain if plain == name and len(name) <= 80 else f"{plain[-60:]}-{zlib.crc32(name.encode()):08x}"


def _text(path: Path) -> str | None:
    """Return the text of a study's file; None if it is no text."""
    try:
        return read_text(path)
    except OSError as problem:
        raise _unreadable(path, problem) from problem
    except UnicodeDecodeError:
        return None


def _unreadable(path: Path, problem: OSError) -> InputError:
    return InputError(f"{path} cannot be read: {problem.strerror}. Remove it, or give another folder.")


def _try(told: dict[str, Any]) -> Try:
    seconds = float("inf") if told["seconds"] is None else float(told["seconds"])
    if not seconds > 0.0 or not all(isinstance(told[name], str) for name in _NAMES):
        raise ValueError("it is no run of a tuning")
    result = Result(float(told["rate"]), str(told["ending"]), seconds, float(told["last"]))
    return Try(told["task"], told["cluster"], told["arm"], told["policy"], int(told["seed"]), result)
