"""Run tasks beside the rounds, one after the other, in a thread; no round waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar, final

T = TypeVar("T")
R = TypeVar("R")


@final
class Background(Generic[T, R]):
    """A queue of tasks that are carried out in a thread.

    Args:
        do: carries out one task, in a thread; its result is passed to `done`, in the event loop.
        done: called with a task and its result. failed: called with a task and the error that it raised.

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
        """Return the number of tasks not begun yet."""
        return self._queue.qsize()

    def put(self, thing: T) -> None:
        """Add a task to the queue."""
        self._queue.put_nowait(thing)

    async def work(self) -> None:
        """Carry out the queued tasks until cancelled."""
        while True:
            thing = await self._queue.get()
            try:
                self._done(thing, await asyncio.to_thread(self._do, thing))
            except Exception as error:
                self._failed(thing, error)
            finally:
                # A failed task counts as done too, so that `finish` does not wait for ever.
                self._queue.task_done()

    async def finish(self) -> None:
        """Wait until all tasks are done."""
        await self._queue.join()
