"""What is done beside the rounds, one thing after the other, in a thread: nobody waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar, final

T = TypeVar("T")
R = TypeVar("R")


@final
class Background(Generic[T, R]):
    """A queue of things to be done.

    Args:
        do: does one, in a thread; what it returns is handed to `done`, in the loop.
        done: is told what came of one. failed: is told of one that could not be done, and why.

    Example:
        >>> found = []
        >>> async def double() -> None:
        ...     work = Background(lambda n: 2 * n, lambda n, twice: found.append(twice), lambda n, why: None)
        ...     task = asyncio.create_task(work.work())
        ...     work.put(4)
        ...     await work.finish()
        ...     task.cancel()
        >>> asyncio.run(double())
        >>> found
        [8]
    """

    def __init__(
        self,
        do: Callable[[T], R],
        done: Callable[[T, R], None],
        failed: Callable[[T, Exception], None],
    ) -> None:
        self._do, self._done, self._failed = do, done, failed
        self._queue: asyncio.Queue[T] = asyncio.Queue()

    def __len__(self) -> int:
        """Things that nobody has begun with."""
        return self._queue.qsize()

    def put(self, thing: T) -> None:
        """One more."""
        self._queue.put_nowait(thing)

    async def work(self) -> None:
        """Do what there is, for ever."""
        while True:
            thing = await self._queue.get()
            try:
                self._done(thing, await asyncio.to_thread(self._do, thing))
            except Exception as error:
                self._failed(thing, error)
            finally:
                # Whoever waits for it must not wait for ever, whatever became of it.
                self._queue.task_done()

    async def finish(self) -> None:
        """Wait until all is done."""
        await self._queue.join()
