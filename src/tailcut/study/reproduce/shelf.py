"""The results of a command in its folder: one line each, so that an interrupted command goes on.

kept.jsonl      what is reproduced, then one line per job that has ended
models/         run-time models that were trained beforehand
claims.json     every claim with its verdict and its figure
index.html      the page
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailcut.atomic import replacing
from tailcut.bounded_files import parse_json, read_bytes
from tailcut.errors import InputError

MAX_KEPT_BYTES = 1 << 30
"""Largest file of results, in bytes."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """A folder of results."""

    root: Path

    @property
    def models(self) -> Path:
        """Folder of run-time models."""
        return self.root / "models"

    @property
    def page(self) -> Path:
        """The page."""
        return self.root / "index.html"

    def claim(self, what: Mapping[str, Any]) -> dict[str, Any]:
        """Make the folder, or see that it belongs to the same reproduction; the results in it.

        Args:
            what: is reproduced; a folder with anything else is refused.

        Raises:
            InputError: the folder holds something else.
        """
        if self._file.exists():
            return self._read(what)
        if self.root.exists() and (not self.root.is_dir() or any(self.root.iterdir())):
            raise InputError(f"{self.root} is not empty and holds no reproduction. Give another folder.")
        self.root.mkdir(parents=True, exist_ok=True)
        with replacing(self._file) as file:
            file.write(json.dumps(dict(what)).encode() + b"\n")
        return {}

    def keep(self, key: str, result: Any, seconds: float) -> None:
        """Add the result of a job, and the seconds of processor time it took."""
        line = json.dumps({"key": key, "seconds": round(seconds, 3), "result": result})
        with self._file.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def write_claims(self, told: Any) -> None:
        """All findings as JSON."""
        with replacing(self.root / "claims.json") as file:
            file.write(json.dumps(told, indent=1, allow_nan=False).encode())

    @property
    def _file(self) -> Path:
        return self.root / "kept.jsonl"

    def _read(self, what: Mapping[str, Any]) -> dict[str, Any]:
        try:
            text = read_bytes(self._file, MAX_KEPT_BYTES).decode(errors="replace")
        except OSError as problem:
            raise InputError(
                f"{self._file} cannot be read: {problem.strerror}. Give another folder."
            ) from problem
        head, *lines = [*text.splitlines(), ""]
        if _value(head) != json.loads(json.dumps(dict(what))):
            raise InputError(
                f"{self.root} holds another reproduction, or one of another version. Give another folder, or delete "
                "this one to begin anew."
            )
        if lines[-2:-1] and not text.endswith("\n"):
            # Half a line from an earlier end: what is kept next must not be glued to it.
            with self._file.open("a", encoding="utf-8") as file:
                file.write("\n")
        found = {}
        for line in lines:
            told = _value(line)
            # A damaged line is as if its job had not been done.
            if isinstance(told, dict) and isinstance(told.get("key"), str) and "result" in told:
                found[told["key"]] = told["result"]
        return found


def _value(line: str) -> Any:
    try:
        return parse_json(line)
    except ValueError:
        return None
