"""The driver's side of the shards: one manifest of parameters, and updates that all shards make or none.

A shard that dies is restarted by Ray, is given the piece of the last manifest, and is told the order again; those who
have carried it out already say so. Only when all have answered is there a new manifest, so that no worker ever sees
parameters of two versions.
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
"""An object of Ray's store, to be awaited or handed on."""
AGAIN: Seconds = 0.05
"""Between two tries to reach a shard that is being restarted; one that dies again is left alone for longer."""
MOST_DEATHS = 20
"""Of one shard in one order: then it will not live through it."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Manifest:
    """One version of everything, whole.

    Attributes:
        version: of the parameters.
        parameters: `(shards,)` refs to arrays. states: of the optimisers.
    """

    version: int
    parameters: tuple[Ref, ...]
    states: tuple[Ref, ...]


@final
class Shards:
    """All shards.

    Args:
        actors: `(shards,)` handles.
        say: is told of deaths and returns.
        patience: seconds that a shard may take to be there, at first or again.

    Attributes:
        manifest: newest; None before `give`.
        restored: how often a shard was given its piece again.
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
        """All begin with these parameters, whatever they had."""
        self.manifest = manifest
        await asyncio.gather(*(self._give(shard) for shard in range(len(self))))

    async def weigh(self, order: Order, gradients: Sequence[Sequence[Ref]]) -> list[Answer]:
        """The norms of an update, by shard; nothing is applied."""
        calls = [self._call(shard, "weigh", order, gradients, 1) for shard in range(len(self))]
        return [answer for answer, *_ in await _all(calls)]

    async def apply(self, order: Order, gradients: Sequence[Sequence[Ref]]) -> list[Answer]:
        """All make an update, and it is in the manifest; each one's answer.

        Args:
            order: the update.
            gradients: `(gradients, shards)` refs.

        Raises:
            GradientsLostError: gradients are gone with their node; the manifest is as before.
            ShardLostError: parameters are, or a shard does not come back.
            ServersError: a shard dies whenever it is told to.
        """
        calls = [self._call(shard, "apply", order, gradients, 3) for shard in range(len(self))]
        made = await _all(calls)
        answers, parameters, states = zip(*made, strict=True)
        self.manifest = Manifest(order.base + 1, parameters, states)
        return list(answers)

    async def go_back(self) -> None:
        """Those who have made an update that is not in the manifest undo it."""
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
        """What a shard says; None where it died."""
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
        """Give a shard its piece of the manifest, as soon as it is there to take it."""
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
    """What all came to, when all have ended: one that goes on by itself would undo what is done next."""
    ended = await asyncio.gather(*calls, return_exceptions=True)
    for each in ended:
        if isinstance(each, BaseException):
            raise each
    return [each for each in ended if not isinstance(each, BaseException)]
