"""Evaluate the net during training: fetch the parameters, compute the task's figures, check the target.

A thread evaluates one version after the other and no round waits for it, so the run ends a few updates after
the one that reached the target. Each evaluation carries the time at which its version was made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch

from tailcut.engines.look import Look
from tailcut.engines.servers.background import Background
from tailcut.engines.servers.computing import net_of
from tailcut.engines.servers.failures import is_object_lost
from tailcut.engines.servers.shards import Manifest
from tailcut.learning.tasks.base import Target, Task
from tailcut.types import Seconds

MOST_WAITING = 8
"""Most versions that wait to be evaluated: each keeps its parameters in Ray's store."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Offered:
    """A version to be evaluated; `returns` is the number of times the run had gone back by then."""

    returns: int
    version: int
    parameters: tuple[Any, ...]
    seconds: Seconds


@final
class Looks:
    """The evaluations of a run.

    Args:
        task: what is trained. seed: seed of the net's first weights.
        get: fetches objects from Ray's store.
        target: target at which the run ends; None for never.
        every: updates between two evaluations. total: version at which the run ends anyway.
        say: called with each evaluation.

    Attributes:
        taken: the evaluations so far. arrived: whether the target was reached.
        failed: the error of an evaluation, lost objects aside; None where there was none.
    """

    def __init__(
        self,
        task: Task,
        seed: int,
        get: Callable[[list[Any]], list[Any]],
        target: Target | None,
        every: int,
        total: int,
        say: Callable[[Look], None],
    ) -> None:
        self.taken: list[Look] = []
        self.arrived = False
        self.failed: Exception | None = None
        self._task, self._get, self._target, self._say = task, get, target, say
        self._every, self._total = every, total
        self._net = net_of(task, seed)
        self._returns: list[int] = []
        self._waiting: Background[_Offered, Look] = Background(self._look, self._looked, self._not_looked)

    def begin(self, manifest: Manifest) -> None:
        """Queue the first parameters of the run, which are always evaluated."""
        self._put(manifest, 0.0)

    def offer(self, manifest: Manifest, seconds: Seconds) -> None:
        """Queue a new version that is due for evaluation; with many waiting, only the last version is."""
        is_last = manifest.version == self._total
        if is_last or (manifest.version % self._every == 0 and len(self._waiting) < MOST_WAITING):
            self._put(manifest, seconds)

    async def work(self) -> None:
        """Evaluate the queued versions until cancelled."""
        await self._waiting.work()

    async def finish(self) -> None:
        """Wait until all queued versions are evaluated."""
        await self._waiting.finish()

    def go_back(self, version: int) -> None:
        """Discard the evaluations of versions after the one that the run went back to."""
        self._returns.append(version)
        self.taken = [look for look in self.taken if look.version <= version]
        self.arrived = any(self._is_there(look) for look in self.taken)

    def _is_there(self, look: Look) -> bool:
        return self._target is not None and self._target.reached(look.figures)

    def _put(self, manifest: Manifest, seconds: Seconds) -> None:
        offered = _Offered(len(self._returns), manifest.version, manifest.parameters, seconds)
        self._waiting.put(offered)

    def _look(self, offered: _Offered) -> Look:
        values = np.concatenate(self._get(list(offered.parameters)))
        with torch.no_grad():
            self._net.put(torch.from_numpy(values))
            self._net.module.eval()
            return Look(offered.version, offered.seconds, self._task.evaluate(self._net.module))

    def _looked(self, offered: _Offered, look: Look) -> None:
        if all(look.version <= back for back in self._returns[offered.returns :]):
            self.taken.append(look)
            self.arrived |= self._is_there(look)
            self._say(look)

    def _not_looked(self, offered: _Offered, error: Exception) -> None:
        # The driver recovers from lost objects by itself.
        self.failed = self.failed if is_object_lost(error) else error
