"""Sums among the accepted workers by a ring of sends and receives between them.

Every piece of the vector is added up along the ring and then handed round, so that all get the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from tailcut.engines.live import points
from tailcut.engines.live.data.bounded import bounded
from tailcut.engines.live.data.group import Group, Work, wait
from tailcut.types import Seconds

SEGMENT = 1 << 18
"""Most elements of one message: while one is added, the next comes in."""


@final
@dataclass(frozen=True, slots=True)
class Ring:
    """One worker's part of a ring.

    The vector is cut into as many chunks as there are workers. Chunk p starts at place p of the ring as it is
    there; every worker adds its own to what comes in and passes it on; the worker that adds the last passes
    on the sum. Messages of one tag between two workers keep their order, so none needs a number.
    """

    group: Group
    accepted: Sequence[int]
    place: int
    tag: int
    timeout: Seconds | None
    lazy: bool

    def reduce(self, source: Tensor, out: Tensor) -> None:
        """Sum all workers' `source` into `out`; raise a RuntimeError if one of them died, or fell silent."""
        n = len(self.accepted)
        ours, sums = _cut(source, n), _cut(out, n)
        first, came = ours[self.place], sums[self.place]
        order = [(self.place - 1 - step) % n for step in range(n - 1)]
        adding = [pair for chunk in order for pair in zip(sums[chunk], ours[chunk], strict=True)]
        handed = [part for chunk in order[:-1] for part in sums[chunk]]
        receives, gathers, sends = list[Work | None](), list[Work | None](), list[Work | None]()

        def post() -> None:
            # All receives are posted before they are due: a send to an unready worker costs a round trip.
            receives.extend(self._receive(part) for part, _ in adding)
            gathers.extend(self._receive(part) for part in came)
            sends.extend(self._send(part) for part in first)

        if self.lazy and self.timeout is not None:
            bounded(post, self.timeout, "connecting to its neighbours")
        else:
            post()
        for receive, (part, own) in zip(receives, adding, strict=True):
            wait(receive, self.timeout)
            part.add_(own)
            sends.append(self._send(part))
            points.at("segment", self.tag)
        for passed, part in zip(sends[len(first) :], handed, strict=False):
            wait(passed, self.timeout)  # only then may the sum be written over what was sent
            gathers.append(self._receive(part))
        for at, part in enumerate([*came, *handed]):
            wait(gathers[at], self.timeout)
            if at < len(handed):
                sends.append(self._send(part))
            points.at("segment", self.tag)
        for send in [*sends[: len(first)], *sends[len(first) + len(handed) :]]:
            wait(send, self.timeout)

    def _send(self, part: Tensor) -> Work | None:
        after = self.accepted[(self.place + 1) % len(self.accepted)]
        return self.group.send([part], after, self.tag) if part.numel() else None

    def _receive(self, part: Tensor) -> Work | None:
        before = self.accepted[self.place - 1]
        return self.group.recv([part], before, self.tag) if part.numel() else None


def _cut(vector: Tensor, n: int) -> list[tuple[Tensor, ...]]:
    """Return views of n chunks, each of equally many messages; those of a short vector may be empty."""
    longest = -(-len(vector) // n)
    messages = max(1, -(-longest // SEGMENT))
    chunks = torch.tensor_split(vector, n)
    return [(chunk,) if messages == 1 else torch.tensor_split(chunk, messages) for chunk in chunks]
