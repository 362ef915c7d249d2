"""Make updates: from the gradients that were accepted to a manifest that all shards have made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

from tailcut.engines.servers.crew import Done
from tailcut.engines.servers.failures import GradientsLostError
from tailcut.engines.servers.reckoning import Reckoning
from tailcut.engines.servers.shards import Shards
from tailcut.types import Measured


@final
@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """The news that an update is in the manifest.

    Attributes:
        version: of the parameters after the update.
        measured: what its gradients showed; None where it had none.
        skipped: why nothing was added to the parameters; empty where something was.
    """

    version: int
    measured: Measured | None
    skipped: str = ""


@final
class Maker:
    """Makes one update after the other.

    Args:
        shards: apply the updates. reckoning: turns gradients into orders.

    Attributes:
        term: number of times the run went back to a checkpoint.
    """

    def __init__(self, shards: Shards, reckoning: Reckoning) -> None:
        self.term = 0
        self._shards, self._reckoning = shards, reckoning

    async def make(self, version: int, done: Sequence[Done]) -> Made:
        """Make the update that follows a version.

        Where gradients are lost with their node, shards that have already applied them undo the update, and
        only the version changes: an update is made by all shards or by none.

        Raises:
            ShardLostError: parameters are lost, or a shard does not come back.
            ServersError: a shard keeps dying.
        """
        try:
            return await self._added(version, done)
        except GradientsLostError as error:
            await self._shards.go_back()
            order = replace(self._reckoning.order(self.term, version, []), id=f"{self.term}.{version}.none")
            await self._shards.apply(order, [])
            return Made(version + 1, None, str(error))

    async def _added(self, version: int, done: Sequence[Done]) -> Made:
        came, gradients = [each.came for each in done], [each.gradient for each in done]
        order = self._reckoning.order(self.term, version, came)
        if self._reckoning.clips:
            order = self._reckoning.clipped(order, await self._shards.weigh(order, gradients))
        answers = await self._shards.apply(order, gradients)
        return Made(version + 1, self._reckoning.made(order, came, answers))
