"""Writes checkpoints while training goes on, and publishes each once all workers have reached its version."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, final

from tailcut.engines.live import points
from tailcut.engines.live.checkpoints.drafts import Drafts, sweep
from tailcut.engines.live.checkpoints.files import reason, write
from tailcut.engines.live.checkpoints.folder import prune, publish
from tailcut.engines.live.checkpoints.trees import CheckpointError, Flat, flat_of
from tailcut.errors import InputError, ParameterError

MOST_COPIES = 2
"""Most states in main memory: one that is being written, and one that waits."""
MOST_UNCONFIRMED = 4
"""Most checkpoints that are not published yet. The oldest stay: all workers reach these first."""


@final
class Checkpoints:
    """The checkpoints of one run, written by this process.

    No method raises once this is made: each error is told in one sentence, published checkpoints stay, and
    the next one is tried at its time. All methods are for one thread. Another thread writes; it also passes
    the points `staging`, `staged` and `published`, and may call `say`.

    Args:
        folder: folder of the checkpoints; made if missing. Half-written files of ended processes are removed.
        every: updates from one checkpoint to the next.
        keep: number of published checkpoints that stay.
        say: is told of each error in a sentence.

    Raises:
        ParameterError: `every` or `keep` is below 1.
        InputError: nothing can be written there.

    Example:
        >>> import tempfile, torch
        >>> from tailcut.engines.live.checkpoints.loading import newest
        >>> folder = tempfile.mkdtemp()
        >>> checkpoints = Checkpoints(folder, every=10, keep=2, say=print)
        >>> checkpoints.wants(10)
        True
        >>> checkpoints.stage(10, {"net": torch.ones(2)}, {"kept": [5, 5]})
        >>> checkpoints.confirmed(11)
        >>> checkpoints.close()
        >>> found = newest(folder, print)
        >>> found.version, found.state, found.extra
        (10, {'net': tensor([1., 1.])}, {'kept': [5, 5]})
    """

    def __init__(
        self, folder: str | PathLike[str], every: int, keep: int, say: Callable[[str], None]
    ) -> None:
        if every < 1:
            raise ParameterError(
                f"Checkpoints must be at least 1 update apart, but got {every}. Give 100, say."
            )
        if keep < 1:
            raise ParameterError(f"At least 1 checkpoint must be kept, but got {keep}. Give 3, say.")
        self._folder, self._every, self._keep, self._say = Path(folder), every, keep, say
        try:
            self._drafts = Drafts(self._folder)
        except OSError as problem:
            raise InputError(
                f"Checkpoints cannot be written to {self._folder} ({reason(problem)}). "
                "Give a folder that can be written."
            ) from problem
        sweep(self._folder)
        # Only the caller's thread uses these:
        self._unconfirmed: set[int] = set()
        self._writes: list[Future[None]] = []
        self._left_out = False
        # Only the writer's thread uses this:
        self._staged: dict[int, Path] = {}
        self._writer = ThreadPoolExecutor(1, "tailcut-checkpoints")

    def wants(self, version: int) -> bool:
        """Return whether it is time for a checkpoint of this version."""
        return version > 0 and version % self._every == 0

    def stage(
        self, version: int, state: dict[str, Any], extra: dict[str, Any], is_last: bool = False
    ) -> None:
        """Copy a state as it is now, and write it in the background; it is published when confirmed.

        Args:
            version: version of the state. A staged state of this version, not yet confirmed, is replaced.
            state: tensors, plain values, and lists, tuples and dictionaries of them.
            extra: further values of these kinds; small.
            is_last: whether no checkpoint follows: then it waits for earlier ones, and is not left out.
        """
        if is_last:
            wait(self._writes)
            self._unconfirmed.clear()
        self._writes = [each for each in self._writes if not each.done()]
        if why := self._why_not():
            if not self._left_out:
                self._say(f"The checkpoint of version {version} is left out: {why}.")
            self._left_out = True
            return
        self._left_out = False
        try:
            flat = flat_of({"version": version, "state": state, "extra": extra})
        except Exception as problem:
            told = str(problem) if isinstance(problem, CheckpointError) else f"{reason(problem)}."
            self._say(f"There is no checkpoint of version {version}: {told}")
            return
        self._unconfirmed.add(version)
        self._writes += self._do(self._write, version, flat)

    def confirmed(self, version: int) -> None:
        """Publish what was staged of this version or earlier ones: every worker has reached this version."""
        reached = {each for each in self._unconfirmed if each <= version}
        if reached:
            self._unconfirmed -= reached
            self._do(self._publish, version)

    def forget(self) -> None:
        """Discard what was staged and not confirmed: this worker has copied another one's state.

        It may be of a history that no other worker has, although others come to versions of the same number.
        """
        self._unconfirmed.clear()
        self._do(self._discard)

    def close(self) -> None:
        """Wait until all is written and published that was asked for; remove the rest."""
        self._writer.shutdown()
        self._drafts.close()

    def _do(self, what: Callable[..., None], *given: Any) -> list[Future[None]]:
        """Run a task in the background, or here if Python is about to end and has ended all threads.

        Return the tasks that are under way: one, or none.
        """
        try:
            return [self._writer.submit(what, *given)]
        except RuntimeError:
            what(*given)
            return []

    def _why_not(self) -> str:
        if len(self._writes) >= MOST_COPIES:
            return (
                f"{len(self._writes)} before it are still being written, so this disk is too slow for one every "
                f"{self._every} updates"
            )
        if len(self._unconfirmed) >= MOST_UNCONFIRMED:
            return f"{len(self._unconfirmed)} before it wait for workers that are behind"
        return ""

    # -- the writer's thread ------------------------------------------------------------------------------------

    def _write(self, version: int, flat: Flat) -> None:
        try:
            if not self._drafts.there:
                self._drafts.close()
                self._drafts = Drafts(self._folder)
            draft = self._drafts.path(version)
            points.at("staging", version)
            write(draft, flat)
            self._staged[version] = draft
            points.at("staged", version)
        # Whatever the error is, training goes on.
        except Exception as problem:
            self._give_up(version, "written to", problem)

    def _publish(self, version: int) -> None:
        for each in sorted(each for each in self._staged if each <= version):
            try:
                publish(self._staged[each], self._folder, each)
                del self._staged[each]
            except Exception as problem:
                self._give_up(each, "published in", problem)
                continue
            points.at("published", each)
            try:
                prune(self._folder, each, self._keep)
            except OSError as problem:
                self._say(f"A checkpoint before version {each} stays in {self._folder}: {reason(problem)}.")

    def _discard(self) -> None:
        for version in list(self._staged):
            with suppress(OSError):
                self._staged.pop(version).unlink(missing_ok=True)

    def _give_up(self, version: int, what: str, problem: Exception) -> None:
        self._staged.pop(version, None)
        with suppress(OSError):
            self._drafts.path(version).unlink(missing_ok=True)
        self._say(
            f"The checkpoint of version {version} could not be {what} {self._folder}: {reason(problem)}. "
            "Those before it stay, and the next is tried at its time."
        )
