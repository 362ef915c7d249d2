"""Sums among accepted workers of one machine, through memory that they share: only small messages are sent.

Two messages go from each to each. The first says where a worker's vector is: when all have come, worker p of
the accepted adds up chunk p of all vectors. The second says where that sum is: when all have come, every
worker copies all chunks. So every element is added up once, and all have the same bits. The messages go over
the group of the epoch, so that a death or a silence is noticed as it is in a ring.

A worker that is suspended for long may read memory that others have begun to overwrite. It finds out: a
vector says which round it is for, and none while it is written; the position of a sum tells whether it was
overwritten.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import torch
from torch import Tensor

from tailcut.engines.live import points
from tailcut.engines.live.data.bounded import bounded
from tailcut.engines.live.data.group import Group, Work, wait
from tailcut.engines.live.data.memory import NOWHERE, WRITTEN, Key, Memory
from tailcut.types import Seconds

_BLOCK = 1 << 16
"""Elements that are added up at a time: they stay in the cache while one vector after another is added."""
_CANNOT = -1


@final
class Shared:
    """One worker's view of the memory of all workers of its machine.

    Args:
        own: memory of this worker; None where it has none that it could share.

    Attributes:
        reductions: number of reductions made in shared memory.
    """

    def __init__(self, own: Memory | None) -> None:
        self.reductions = 0
        self._own = own
        self._seen: dict[int, Memory] = {}

    def reduce(
        self,
        group: Group,
        me: int,
        accepted: Sequence[int],
        out: Tensor,
        tag: int,
        timeout: Seconds | None,
        lazy: bool,
    ) -> bool:
        """Sum the accepted workers' vectors into `out`; return False, at all, where one cannot see another's.

        The same holds where one finds another's to be of another round. At most `MOST_SHARERS` workers take
        part.

        Raises:
            RuntimeError: one of them died, or fell silent, or this one was so slow that the others have gone on.
        """
        others = [place for place in accepted if place != me]
        words = torch.zeros(2, len(NOWHERE), dtype=torch.int64)
        heard = {place: torch.zeros_like(words) for place in others}
        receives, sends = dict[int, list[Work]](), list[Work]()
        words[0] = torch.tensor(NOWHERE if self._own is None else self._own.key)

        def post() -> None:
            # Also of the second messages: a send to a worker not yet ready costs a round trip more.
            for place, both in heard.items():
                receives[place] = [group.recv([word], place, tag) for word in both]
            sends.extend(group.send([words[0]], place, tag) for place in others)

        if lazy and timeout is not None:
            bounded(post, timeout, "connecting to the others")
        else:
            post()
        for first, _ in receives.values():
            wait(first, timeout)
            points.at("segment", tag)
        memories = self._memories(group, {place: tuple(both[0].tolist()) for place, both in heard.items()})
        words[1, 0] = self._added(memories, me, accepted) if memories else _CANNOT
        for place in others:
            sends.append(group.send([words[1]], place, tag))
            points.at("segment", tag)
        for _, second in receives.values():
            wait(second, timeout)
        for send in sends:
            wait(send, timeout)
        positions = {place: int(both[1, 0]) for place, both in heard.items()} | {me: int(words[1, 0])}
        if _CANNOT in positions.values():
            return False
        points.at("summed", tag)
        for place, part in zip(accepted, torch.tensor_split(out, len(accepted)), strict=True):
            memory, position = memories[place], positions[place]
            part.copy_(memory.at(position, len(part)))
            if not memory.has(position):
                raise RuntimeError(
                    f"the sums of the worker at place {place} were written over while they were read"
                )
        self.reductions += 1
        return True

    def _memories(self, group: Group, keys: dict[int, Key]) -> dict[int, Memory]:
        """Return the memories of all others, by their places; none where one is missing."""
        own, before = self._own, self._seen
        # Memory of places outside this group must not be kept: its worker may be dead.
        self._seen = {place: memory for place, memory in before.items() if place < group.size()}
        if own is None or NOWHERE in keys.values():
            return {}
        for place, key in keys.items():
            if place not in before or before[place].key != key:
                found = Memory.of(key, len(own.source), own.source.dtype)
                if found is None:
                    return {}
                self._seen[place] = found
        return {place: self._seen[place] for place in keys}

    def _added(self, memories: dict[int, Memory], me: int, accepted: Sequence[int]) -> int:
        """Add up this worker's chunk of all vectors; return the sum's position, or `_CANNOT` if unusable."""
        assert self._own is not None
        memories[me] = self._own
        n, chunk = len(accepted), accepted.index(me)
        vectors = [torch.tensor_split(memories[place].source, n)[chunk] for place in accepted]
        position, sums = self._own.room(len(vectors[0]))
        for begin in range(0, len(sums), _BLOCK):
            first, second, *more = (vector[begin : begin + _BLOCK] for vector in vectors)
            block = torch.add(first, second, out=sums[begin : begin + _BLOCK])
            for vector in more:
                block.add_(vector)
        meant = self._own.holds
        same = meant != WRITTEN and all(memories[place].holds == meant for place in accepted)
        return position if same else _CANNOT
