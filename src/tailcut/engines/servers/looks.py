"""Looks at the net in training: parameters out of the store, the task's figures, whether it has got where it should.

They are taken in a thread, one after the other: nobody waits for them, and the run ends a few updates after the one
that reached the target. When a version was there is known all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, final

import numpy as np
import torch

from tailcut.engines.look import Look
from tailcut.engines.servers.computing import net_of
from tailcut.engines.servers.failures import is_object_lost
from tailcut.engines.servers.shards import Manifest
from tailcut.learning.tasks.base import Target, Task
from tailcut.types import Seconds

MOST_WAITING = 8
"""Versions that wait to be looked at: each keeps its parameters in the store."""


@final
class Looks:
    """All looks of a run.

    Args:
        task: what is trained. seed: of the net's first weights.
        get: fetches an object.
        target: at which the run ends; None for never.
        every: updates between two looks. total: version at which the run ends anyway.
        say: is told of each.

    Attributes:
        taken: so far. arrived: whether the target was reached.
        failed: what went wrong with a look that no later one can mend; None where nothing did.
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
        self._waiting: asyncio.Queue[tuple[int, int, tuple[Any, ...], Seconds]] = asyncio.Queue()

    def begin(self, manifest: Manifest) -> None:
        """What the run begins with is always looked at."""
        self._waiting.put_nowait((len(self._returns), manifest.version, manifest.parameters, 0.0))

    def offer(self, manifest: Manifest, seconds: Seconds) -> None:
        """There is a new version; it is looked at if it is time to. Where many wait, only the last comes too."""
        is_last = manifest.version == self._total
        if is_last or (manifest.version % self._every == 0 and self._waiting.qsize() < MOST_WAITING):
            self._waiting.put_nowait((len(self._returns), manifest.version, manifest.parameters, seconds))

    async def work(self) -> None:
        """Look at what is offered, for ever."""
        while True:
            returns, version, parameters, seconds = await self._waiting.get()
            try:
                look = await asyncio.to_thread(self._look, version, parameters, seconds)
                if all(look.version <= back for back in self._returns[returns:]):
                    self._keep(look)
            except Exception as error:
                # What is lost is the driver's to mend.
                self.failed = self.failed if is_object_lost(error) else error
            finally:
                self._waiting.task_done()

    async def finish(self) -> None:
        """Wait until all that was offered has been looked at."""
        await self._waiting.join()

    def go_back(self, version: int) -> None:
        """The run has gone back to a version: what came after it never was."""
        self._returns.append(version)
        self.taken = [look for look in self.taken if look.version <= version]
        self.arrived = any(self._is_there(look) for look in self.taken)

    def _is_there(self, look: Look) -> bool:
        return self._target is not None and self._target.reached(look.figures)

    def _keep(self, look: Look) -> None:
        self.taken.append(look)
        self.arrived |= self._is_there(look)
        self._say(look)

    def _look(self, version: int, parameters: tuple[Any, ...], seconds: Seconds) -> Look:
        values = np.concatenate(self._get(list(parameters)))
        with torch.no_grad():
            self._net.put(torch.from_numpy(values))
            self._net.module.eval()
            return Look(version, seconds, self._task.evaluate(self._net.module))
