"""The results of a command in its folder: one line each, so that an interrupted command can be resumed.

kept.jsonl      settings of the reproduction, then one line per finished job
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
    """A folder with the results of a command."""

    root: Path

    @property
    def models(self) -> Path:
        """The folder of run-time models."""
        return self.root / "models"

    @property
    def page(self) -> Path:
        """The path of the page."""
        return self.root / "index.html"

    def claim(self, what: Mapping[str, Any]) -> dict[str, Any]:
        """Create the folder, or check that it belongs to the same reproduction; return the results in it.

        Args:
            what: settings of the reproduction; a folder with others is refused.

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
        """Append the result of a job, and its seconds of processor time."""
        line = json.dumps({"key": key, "seconds": round(seconds, 3), "result": result})
        with self._file.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def write_claims(self, told: Any) -> None:
        """Write all findings as JSON."""
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
            # After half a line of an interrupted command the next result must begin on a new line.
            with self._file.open("a", encoding="utf-8") as file:
                file.write("\n")
        found = {}
        for line in lines:
            told = _value(line)
            # A damaged line is skipped, so that its job is repeated.
            if isinstance(told, dict) and isinstance(told.get("key"), str) and "result" in told:
                found[told["key"]] = told["result"]
        return found


def _value(line: str) -> Any:
    try:
        return parse_json(line)
    except ValueError:
        return None
