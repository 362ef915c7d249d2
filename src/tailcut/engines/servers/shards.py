"""The driver's side of the shards: one manifest of parameters, and updates that all shards make or none.

A shard that dies is restarted by Ray, is given its piece of the last manifest, and is sent the order again;
shards that have carried it out repeat their answer. A new manifest is made only when all have answered, so
that no worker ever sees parameters of two versions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

from tailcut.engines.servers.failures import (
    GradientsLostError,
    ServersError,
    ShardLostError,
    is_actor_gone,
    is_object_lost,
    never_began,
)
from tailcut.engines.servers.orders import Answer, Order
from tailcut.types import Seconds

Ref: TypeAlias = Any
"""Reference to an object of Ray's store, to be awaited or passed on."""
AGAIN: Seconds = 0.05
"""Pause before a restarting shard is called again, in seconds; multiplied by its deaths in an order."""
MOST_DEATHS = 20
"""Most deaths of one shard in one order; after more the run fails."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Manifest:
    """One complete version of the parameters and the optimizer states.

    Attributes:
        version: version of the parameters.
        parameters: `(shards,)` refs to arrays. states: `(shards,)` refs to optimizer states.
    """

    version: int
    parameters: tuple[Ref, ...]
    states: tuple[Ref, ...]


@final
class Shards:
    """The shards of a run.

    Args:
        actors: `(shards,)` handles of the actors.
        say: called with a message about each death of a shard.
        patience: seconds that a shard may take to start, at first or again.

    Attributes:
        manifest: the newest manifest; None before `give`.
        restored: number of times that a shard was given its piece again.
    """

    def __init__(
        self,
        actors: Sequence[Any],
        say: Callable[[str], None],
        patience: Seconds = 60.0,
    ) -> None:
        self.manifest: Manifest | None = None
        self.restored = 0
        self._actors, self._say = actors, say
        self._patience = patience

    def __len__(self) -> int:
        return len(self._actors)

    async def give(self, manifest: Manifest) -> None:
        """Give these parameters to all shards, which discard what they had."""
        self.manifest = manifest
        await asyncio.gather(*(self._give(shard) for shard in range(len(self))))

    async def weigh(self, order: Order, gradients: Sequence[Sequence[Ref]]) -> list[Answer]:
        """Return the norms of an update, by shard, without applying it."""
        calls = [self._call(shard, "weigh", order, gradients, 1) for shard in range(len(self))]
        return [answer for answer, *_ in await _all(calls)]

    async def apply(self, order: Order, gradients: Sequence[Sequence[Ref]]) -> list[Answer]:
        """Have all shards make an update, put it into the manifest and return their answers.

        Args:
            order: the update.
            gradients: `(gradients, shards)` refs.

        Raises:
            GradientsLostError: gradients are gone with their node; the manifest is as before.
            ShardLostError: parameters are gone with their node, or a shard does not come back.
            ServersError: a shard dies again and again.
        """
        calls = [self._call(shard, "apply", order, gradients, 3) for shard in range(len(self))]
        made = await _all(calls)
        answers, parameters, states = zip(*made, strict=True)
        self.manifest = Manifest(order.base + 1, parameters, states)
        return list(answers)

    async def go_back(self) -> None:
        """Undo an update that is not in the manifest, at the shards that have made it."""
        assert self.manifest is not None
        for shard, actor in enumerate(self._actors):
            try:
                answer = await actor.go_back.remote(self.manifest.version)
            except Exception as error:
                if not is_actor_gone(error):
                    raise
                answer = None
            if answer is None or answer.refused:
                await self._give(shard)

    async def _call(
        self, shard: int, method: str, order: Order, gradients: Sequence[Sequence[Ref]], returns: int
    ) -> tuple[Any, ...]:
        """Call a shard until it answers; one that died is given its piece again first."""
        deaths = 0
        while True:
            call = getattr(self._actors[shard], method).options(num_returns=returns)
            refs = call.remote(order, *(gradient[shard] for gradient in gradients))
            refs = refs if isinstance(refs, list) else [refs]
            answer = await self._answer(shard, refs[0])
            if answer is not None and not answer.refused:
                return (answer, *refs[1:])
            if answer is not None and answer.version is not None:
                raise ShardLostError(f"Server shard {shard} refused update {order.id}: {answer.refused}.")
            deaths += 1
            if deaths > MOST_DEATHS:
                raise ServersError(
                    f"Server shard {shard} has died {deaths} times in update {order.id}. Give servers more memory, or "
                    "take more of them, and start again."
                )
            await asyncio.sleep(AGAIN * deaths)
            await self._give(shard)
            self.restored += 1

    async def _answer(self, shard: int, ref: Ref) -> Answer | None:
        """Return the answer of a shard; None where it died."""
        try:
            answer: Answer = await ref
            return answer
        except Exception as error:
            if is_object_lost(error):
                raise GradientsLostError(
                    f"A gradient that shard {shard} needs is gone with its node."
                ) from error
            if not is_actor_gone(error):
                raise
            self._say(f"Server shard {shard} has died; it is restarted and given its parameters again.")
            return None

    async def _give(self, shard: int) -> None:
        """Give a shard its piece of the manifest, as soon as its actor is there."""
        assert self.manifest is not None
        piece = self.manifest.parameters[shard], self.manifest.states[shard]
        ends = asyncio.get_running_loop().time() + self._patience
        while True:
            try:
                async with asyncio.timeout(self._patience):
                    await self._actors[shard].give.remote(self.manifest.version, *piece)
                return
            except TimeoutError as error:
                raise ShardLostError(
                    f"Server shard {shard} was not there after {self._patience:g} s; each needs one processor of the "
                    "cluster. Take fewer servers or workers, or a larger cluster."
                ) from error
            except Exception as error:
                if is_object_lost(error):
                    raise ShardLostError(
                        f"The parameters of shard {shard} are gone with their node."
                    ) from error
                if not is_actor_gone(error) or never_began(error):
                    raise
                if asyncio.get_running_loop().time() > ends:
                    raise ShardLostError(
                        f"Server shard {shard} did not come back within {self._patience:g} s."
                    ) from error
            await asyncio.sleep(AGAIN)


async def _all(calls: Sequence[Coroutine[Any, Any, tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
    """Return all results once all calls have ended: one still running would undo what is done next."""
    ended = await asyncio.gather(*calls, return_exceptions=True)
    for each in ended:
        if isinstance(each, BaseException):
            raise each
    return [each for each in ended if not isinstance(each, BaseException)]
