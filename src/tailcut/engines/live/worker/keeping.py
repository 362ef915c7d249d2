"""The checkpoints of a run: one worker writes them, and publishes each once all workers have its version."""

from __future__ import annotations

import sys
from contextlib import suppress
from os import PathLike, fspath
from pathlib import Path
from typing import final

from tailcut.engines.live.checkpoints import Checkpoint, Checkpoints, Positions, newest
from tailcut.engines.live.checkpoints.folder import published
from tailcut.engines.live.points import at
from tailcut.engines.live.worker.joining import Own
from tailcut.errors import InputError, ParameterError


def say(sentence: str) -> None:
    """Print a sentence for the user."""
    print(f"tailcut: {sentence}", file=sys.stderr, flush=True)


@final
class Keeping:
    """The checkpoints of a run, as one of its workers sees them.

    Args:
        own: this worker's objects, whose state is kept.
        folder: folder of the checkpoints; None to keep none.
        every: updates from one checkpoint to the next.
        keep: number of checkpoints that stay.
        total: version at which the run ends, which is kept too; None for none.

    Raises:
        ParameterError: `every` or `keep` is below 1.
    """

    def __init__(
        self, own: Own, folder: str | PathLike[str] | None, every: int, keep: int, total: int | None
    ) -> None:
        self._own, self._total = own, total
        self._folder = None if folder is None else fspath(folder)
        self._every, self._keep = every, keep
        self._checkpoints: Checkpoints | None = None
        self._problem: InputError | None = None
        self._epoch: int | None = None
        self._held: int | None = None
        if self._folder is not None:
            self._open(self._folder)

    def _open(self, folder: str) -> None:
        found = None
        try:
            found = newest(folder, say) if Path(folder).is_dir() else None
            # Any worker may have to write later, and says now if it cannot.
            self._checkpoints = Checkpoints(folder, self._every, self._keep, say)
        except ParameterError:
            raise
        except InputError as problem:
            self._problem = problem
        if found is not None:
            self._resume(found)

    def check(self, is_under_way: bool) -> None:
        """Refuse to begin a run without a usable folder; print the problem if the run has begun.

        Args:
            is_under_way: whether the run has begun: a worker that joins it copies the state of the others.

        Raises:
            InputError: nothing can be written there, or none of the checkpoints there is whole.
        """
        problem, self._problem = self._problem, None
        if problem is None:
            return
        if not is_under_way and self._own.log.version == 0:
            raise problem
        say(f"{problem} It is tried again.")

    def loop(self, updates: int, total: int) -> None:
        """Delay the checkpoint at the end of an epoch until the script has done its work between two epochs.

        A run that resumes from such a checkpoint begins with the next epoch. So it lacks neither an
        evaluation nor a step of a schedule.

        Args:
            updates: updates in an epoch.
            total: version at which the run ends.
        """
        self._epoch, self._total = updates, total

    def made(self, is_writer: bool) -> None:
        """Write the new version, if a checkpoint is due and this worker is the one that writes."""
        version = self._own.replica.version
        if (
            self._folder is None
            or not is_writer
            or not (version % self._every == 0 or version == self._total)
        ):
            return
        if self._epoch is not None and version % self._epoch == 0:
            self._held = version
        else:
            self._write()

    def between_epochs(self) -> None:
        """Write the checkpoint that was delayed until the script's work between two epochs was done."""
        held, self._held = self._held, None
        if held == self._own.replica.version and self._folder is not None:
            self._write()

    def _write(self) -> None:
        assert self._folder is not None
        version = self._own.replica.version
        if self._checkpoints is None:
            self._try_again(self._folder)
        if self._checkpoints is not None:
            log = self._own.log
            state = self._own.replica.state() | {"chain": log.chain}
            more = {"positions": log.positions.state()}
            self._checkpoints.stage(version, state, more, is_last=version == self._total)

    def _try_again(self, folder: str) -> None:
        with suppress(InputError):
            self._checkpoints = Checkpoints(folder, self._every, self._keep, say)

    def confirmed(self, version: int) -> None:
        """Publish the checkpoints up to this version, which all workers have reached."""
        if self._checkpoints is not None:
            self._checkpoints.confirmed(version)

    def forget(self) -> None:
        """Discard unpublished checkpoints: the state was replaced, and they may be of another history."""
        self._held = None
        if self._checkpoints is not None:
            self._checkpoints.forget()

    def resume_later(self, is_in_run: bool) -> bool:
        """Load the newest checkpoint if this worker's state is behind it; return whether it was.

        A run publishes a checkpoint when all its members have that version. So a worker that is behind one was left
        behind, and the run must not continue from its state.

        Args:
            is_in_run: whether this worker has been a member. Then a checkpoint of its version may also be of another
                history.
        """
        version, chain = self._own.log.version, self._own.log.chain
        if self._folder is None:
            return False
        try:
            there = max(published(Path(self._folder)), default=0)
            if there < version + (not is_in_run):
                return False
            found = newest(self._folder, say)
        except (InputError, OSError) as problem:
            say(f"The checkpoints in {self._folder} are not looked at: {problem}")
            return False
        if found is None or (found.version, found.state.get("chain", chain)) == (version, chain):
            return False
        if found.version < version:
            return False
        self.forget()
        self._resume(found)
        at("resumed", found.version)
        return True

    def close(self) -> None:
        """Wait until all checkpoints are written that were asked for; keep no more."""
        if self._checkpoints is not None:
            self._checkpoints.close()
            self._checkpoints = self._folder = None

    def _resume(self, found: Checkpoint) -> None:
        state = dict(found.state)
        chain = state.pop("chain", b"")
        self._own.replica.load(state)
        self._own.flat.rebase()
        self._own.log.restart(found.version, chain, Positions.at(found.extra.get("positions", [])))
