"""Checkpoints of a run on servers: a thread of the driver writes complete versions, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

import torch

from tailcut.engines.live.checkpoints.drafts import Drafts, sweep
from tailcut.engines.live.checkpoints.files import reason, write
from tailcut.engines.live.checkpoints.folder import prune, publish
from tailcut.engines.live.checkpoints.loading import newest
from tailcut.engines.live.checkpoints.trees import CheckpointError, flat_of
from tailcut.engines.records.kept import keep_learnt, kept_learnt
from tailcut.engines.servers.background import Background
from tailcut.engines.servers.pieces import Piece, joined
from tailcut.engines.servers.shards import Manifest
from tailcut.noise import Average, Noise
from tailcut.policy import Policy, PolicyState
from tailcut.types import WorkerId

LEARNT = "policy.safetensors"
"""File name of what the policy had learned by the newest checkpoint."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """A checkpoint.

    Attributes:
        whole: parameters and optimizer state of one version.
        noise: the estimates of the gradient noise by then.
        begun: number of mini-batches that each worker had begun, where it counts its own; empty otherwise.
        run: the settings of the run, so that a run with other settings does not resume from it.
    """

    whole: Piece
    noise: Noise
    begun: dict[WorkerId, int]
    run: dict[str, Any]


def read_newest(folder: Path, say: Callable[[str], None]) -> Kept | None:
    """Return the newest complete checkpoint; None where there is no checkpoint.

    Raises:
        CheckpointError: there are checkpoints, and none is complete.
    """
    found = newest(folder, say)
    if found is None:
        return None
    try:
        state = found.state
        numbers = {key: value.numpy() for key, value in state["optimiser"].items()}
        whole = Piece(found.version, state["vector"].numpy(), numbers)
        parts = [Average(**{k: v.numpy() for k, v in state["noise"][name].items()}) for name in _NOISE]
        begun = {int(worker): int(count) for worker, count in found.extra.get(BEGUN, {}).items()}
        run = {name: value for name, value in found.extra.items() if name != BEGUN}
        return Kept(whole, Noise(*parts), begun, run)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise CheckpointError(
            f"{found.path} is no checkpoint of a run on servers ({error!r}). Give the folder of one, or an empty one."
        ) from error


def learnt_in(folder: Path, policy: Policy, say: Callable[[str], None], name: str = "") -> PolicyState | None:
    """Return what a policy of this name had learned; None where nothing whole was kept, or by another policy."""
    return kept_learnt(folder / LEARNT, policy, say, name)


BEGUN = "begun"
_NOISE = ("gradient", "variance")


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Offered:
    """A version to be written, and what belongs to it."""

    manifest: Manifest
    noise: Noise
    begun: dict[WorkerId, int]
    learnt: PolicyState


def _ignore(offered: _Offered, nothing: None) -> None:
    del offered, nothing


@final
class Keeping:
    """Writes a checkpoint of every so many versions.

    Args:
        folder: folder of the checkpoints.
        every: updates between two checkpoints.
        run: the settings of the run.
        get: fetches objects from Ray's store.
        say: called with a message where a checkpoint could not be written.
        keep: number of checkpoints that stay.
        policy_name: name of the policy, for messages; empty where it has none.

    Raises:
        OSError: the folder cannot be written.
    """

    def __init__(
        self,
        folder: Path,
        every: int,
        run: dict[str, Any],
        get: Callable[[list[Any]], list[Any]],
        say: Callable[[str], None],
        keep: int = 3,
        policy_name: str = "",
    ) -> None:
        self._policy_name = policy_name
        self._folder, self._every, self._run, self._keep = folder, every, run, keep
        self._get, self._say = get, say
        self._drafts = Drafts(folder)
        sweep(folder)
        self._waiting: Background[_Offered, None] = Background(self._write, _ignore, self._not_written)

    def offer(
        self,
        manifest: Manifest,
        noise: Noise,
        begun: Mapping[WorkerId, int],
        learnt: Callable[[], PolicyState],
        is_last: bool,
    ) -> None:
        """Queue a new version if it is the last one, or if it is due and no other waits in the queue."""
        if is_last or (manifest.version % self._every == 0 and not len(self._waiting)):
            self._waiting.put(_Offered(manifest, noise, dict(begun), learnt()))

    async def work(self) -> None:
        """Write the queued versions until cancelled."""
        await self._waiting.work()

    async def written(self) -> None:
        """Wait until all queued versions are written."""
        await self._waiting.finish()

    async def finish(self) -> None:
        """Wait until all queued versions are written, then close the drafts."""
        await self.written()
        self._drafts.close()

    def _not_written(self, offered: _Offered, problem: Exception) -> None:
        with suppress(OSError):
            self._say(f"Version {offered.manifest.version} was not kept: {reason(problem)}. The run goes on.")

    def _write(self, offered: _Offered) -> None:
        manifest, noise = offered.manifest, offered.noise
        pairs = zip(self._get(list(manifest.parameters)), self._get(list(manifest.states)), strict=True)
        whole = joined([Piece(manifest.version, vector, state) for vector, state in pairs])
        state = {
            "vector": torch.tensor(whole.vector),
            "optimiser": {key: torch.tensor(value) for key, value in whole.state.items()},
            "noise": {
                name: {key: torch.tensor(value) for key, value in asdict(getattr(noise, name)).items()}
                for name in _NOISE
            },
        }
        extra = self._run | {BEGUN: {str(worker): count for worker, count in offered.begun.items()}}
        draft = self._drafts.path(manifest.version)
        write(draft, flat_of({"version": manifest.version, "state": state, "extra": extra}))
        keep_learnt(self._folder / LEARNT, offered.learnt, self._policy_name)
        publish(draft, self._folder, manifest.version)
        prune(self._folder, manifest.version, self._keep)
