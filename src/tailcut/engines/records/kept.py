"""The learnt state of a policy, in two files: the newest, and the one before it if the newest is damaged.

FOLDER/policy.safetensors           the newest
FOLDER/policy-before.safetensors    the one before it
FOLDER/policy-next.safetensors      one that was to be the newest, where the writing was interrupted
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tailcut.atomic import sync_folder
from tailcut.engines.records.files import reason
from tailcut.errors import InputError
from tailcut.policy import Policy, PolicyState
from tailcut.saved import OtherPolicyError, load_state, save_state


def keep_learnt(file: Path, state: PolicyState, name: str = "") -> None:
    """Write a state to a file, and wait until it is on the disk; the state that is there is kept as the one before.

    Args:
        file: file of the newest state.
        state: learnt state of the policy.
        name: the policy's name, for messages; empty where it has none.

    Raises:
        InputError: it cannot be written; what was kept is still there.
        TypeError: the state holds what no file can.
    """
    following = _beside(file, "next")
    save_state(following, state, name)
    try:
        # Whenever this is interrupted, one of the two is there and whole.
        with suppress(FileNotFoundError):
            file.replace(_beside(file, "before"))
        following.replace(file)
        sync_folder(file.parent)
    except OSError as problem:
        raise InputError(
            f"{file} cannot be replaced: {reason(problem)}. Give a path in a folder of yours."
        ) from problem


def kept_learnt(file: Path, policy: Policy, say: Callable[[str], None], name: str = "") -> PolicyState | None:
    """Return the newest state that is whole; None where there is none, or where another policy has saved it.

    Args:
        file: as it was given to `keep_learnt`.
        policy: the policy that is to continue with the state.
        say: is called with a sentence about each file that is skipped.
        name: the policy's name, for messages; empty where it has none.
    """
    there = [each for each in (file, _beside(file, "before")) if each.exists()]
    for each in there:
        try:
            return load_state(each, policy)
        except OtherPolicyError as problem:
            # The file before is older, and no state to continue from either.
            say(_changed(file, name, problem.saved_by))
            return None
        # Whatever is wrong with the file, the run goes on.
        except Exception as problem:
            say(f"What the policy had learnt is passed over. {problem}")
    if there:
        say("The policy begins anew.")
    return None


def _changed(file: Path, name: str, saved_by: str) -> str:
    """Tell that the policy was changed between two starts of a run."""
    by = f"policy {saved_by!r}" if saved_by and saved_by != name else "another policy or version of it"
    return (
        f"The state in {file} was saved by {by}, and this run has {repr(name) if name else 'a different one'}: "
        "the policy starts with nothing learned, and the training itself continues. To keep what was learned, resume "
        "with the policy that saved it."
    )


def _beside(file: Path, which: str) -> Path:
    return file.with_name(f"{file.stem}-{which}{file.suffix}")
