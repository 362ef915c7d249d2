"""Choose a worker's next mini-batch where lengths differ: the row's own, or one dropped before."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import final

from tailcut.engines.books import Jobs
from tailcut.learning.tasks.base import Task
from tailcut.types import WorkerId
from tailcut.work import Work


@final
class TaskJobs(Jobs):
    """Mini-batches of a task, each as long as the task says.

    Args:
        task: the task that the mini-batches belong to.
        seed: seed of the run.
        requeue: whether a dropped mini-batch is the worker's next one; otherwise it is gone.
    """

    def __init__(self, task: Task, seed: int, requeue: bool = False) -> None:
        self._task, self._seed, self._requeue = task, seed, requeue
        self._again: dict[WorkerId, deque[int]] = defaultdict(deque)

    def begin(self, worker: WorkerId, row: int) -> tuple[int, float]:
        """Return the oldest dropped mini-batch, otherwise the row's own, and its length."""
        again = self._again[worker]
        number = again.popleft() if again else row
        return number, self._task.work(worker, number, self._seed)

    def dropped(self, work: Work) -> None:
        """Record a dropped mini-batch, which is taken again if `requeue` is set."""
        if self._requeue:
            self._again[work.worker].append(work.number)
