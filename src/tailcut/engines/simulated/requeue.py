"""Which mini-batch a worker takes where its length matters: the next one, or one that was dropped before."""

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
        task: whose mini-batches.
        seed: of the run.
        requeue: whether a dropped mini-batch is the worker's next one; otherwise it is gone.
    """

    def __init__(self, task: Task, seed: int, requeue: bool = False) -> None:
        self._task, self._seed, self._requeue = task, seed, requeue
        self._again: dict[WorkerId, deque[int]] = defaultdict(deque)

    def begin(self, worker: WorkerId, row: int) -> tuple[int, float]:
        """The oldest that was dropped, otherwise the row's own."""
        again = self._again[worker]
        number = again.popleft() if again else row
        return number, self._task.work(worker, number, self._seed)

    def dropped(self, work: Work) -> None:
        """To be taken again, or gone."""
        if self._requeue:
            self._again[work.worker].append(work.number)
