"""What a policy has learnt, in two files: the newest, and the one before it, for where the newest is damaged.

FOLDER/policy.safetensors           the newest
FOLDER/policy-before.safetensors    the one before it
FOLDER/policy-next.safetensors      one that was to be the newest, where that was broken off
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tailcut.atomic import sync_folder
from tailcut.engines.records.files import reason
from tailcut.errors import InputError
from tailcut.policy import Policy, PolicyState
from tailcut.saved import load_state, save_state


def keep_learnt(file: Path, state: PolicyState) -> None:
    """Put a state into a file; the one that is there stays, as the one before. On the disk when this returns.

    Args:
        file: of the newest.
        state: what the policy has learnt.

    Raises:
        InputError: it cannot be written; what was kept is still there.
        TypeError: the state holds what no file can.
    """
    following = _beside(file, "next")
    save_state(following, state)
    try:
        # Whenever this is broken off, one of the two is there and whole.
        with suppress(FileNotFoundError):
            file.replace(_beside(file, "before"))
        following.replace(file)
        sync_folder(file.parent)
    except OSError as problem:
        raise InputError(
            f"{file} cannot be replaced: {reason(problem)}. Give a path in a folder of yours."
        ) from problem


def kept_learnt(file: Path, policy: Policy, say: Callable[[str], None]) -> PolicyState | None:
    """The newest state that is whole; None where there is none.

    Args:
        file: as it was given to `keep_learnt`.
        policy: whose state it is.
        say: is told, in a sentence, of each that is passed over.
    """
    there = [each for each in (file, _beside(file, "before")) if each.exists()]
    for each in there:
        try:
            return load_state(each, policy)
        # Whatever it is, the run goes on.
        except Exception as problem:
            say(f"What the policy had learnt is passed over. {problem}")
    if there:
        say("The policy begins anew.")
    return None


def _beside(file: Path, which: str) -> Path:
    return file.with_name(f"{file.stem}-{which}{file.suffix}")
