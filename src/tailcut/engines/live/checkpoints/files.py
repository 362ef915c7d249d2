"""One checkpoint as one file: safetensors, whose header has everything that is no tensor, and a checksum of it all.

The checksum, of `tailcut.sealing`, is verified before anything else: a file that is cut off or has one bit
wrong is not read. Reading executes nothing, whatever a file contains.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from tailcut.bounded_files import open_file, parse_json
from tailcut.engines.live.checkpoints.trees import CheckpointError, Flat, state_of
from tailcut.errors import one_line
from tailcut.sealing import BLANK, seal, seal_of

KIND, VERSION = "tailcut checkpoint", "1"
_SYSTEM_ERROR = re.compile(r"\(os error (\d+)\)")
_NOT_READ = (SafetensorError, ValueError, KeyError, TypeError, IndexError, AttributeError, RuntimeError)


def write(path: Path, flat: Flat) -> None:
    """Write the file, and sync it to disk.

    Raises:
        OSError, SafetensorError: it could not be written; part of it may be there.
    """
    save_file(flat.tensors, path, {"format": KIND, "version": VERSION, "tree": flat.tree} | BLANK)
    with path.open("r+b") as file:
        seal(file)
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> Any:
    """Return the state in a file.

    It needs main memory for the state once, however large the file claims to be.

    Raises:
        CheckpointError: the file is damaged, no checkpoint, of another version, or cannot be read.
        FileNotFoundError: it is not there.
    """
    try:
        with open_file(path) as file:
            found = seal_of(file)
        found.check()
        words = parse_json(found.header.decode())["__metadata__"]
        if (words["format"], words["version"]) != (KIND, VERSION):
            raise ValueError(
                f"it is {words['format']!r} of version {words['version']!r}, not {KIND!r} of version {VERSION!r}"
            )
        return state_of(words["tree"], load_file(path))
    except FileNotFoundError:
        raise
    except OSError as problem:
        raise CheckpointError(f"{path} cannot be read: {reason(problem)}.") from problem
    except _NOT_READ as problem:
        raise CheckpointError(f"{path} is no whole checkpoint: {one_line(problem)}.") from problem


def reason(problem: Exception) -> str:
    """Return why a file could not be read or written, in the system's words if the system refused."""
    if isinstance(problem, OSError) and problem.strerror:
        return problem.strerror
    found = _SYSTEM_ERROR.search(str(problem))
    return os.strerror(int(found[1])) if found else str(problem).rstrip(".") or type(problem).__name__
