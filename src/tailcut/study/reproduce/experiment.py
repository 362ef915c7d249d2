"""The interface of an experiment: jobs whose results are kept as plain values, and a finding from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from tailcut.study.grid.makers import Makers
from tailcut.study.parallel import Job
from tailcut.study.reproduce.findings import Finding

Kept: TypeAlias = Mapping[str, Any]
"""Results by the key of their job; values that `json` can write and read."""


@dataclass(frozen=True, slots=True)
class Bench:
    """The objects that all experiments of a command share.

    Attributes:
        makers: functions that turn names into objects.
        models: folder of run-time models that were trained beforehand.
        task: name of the task to train.
    """

    makers: Makers
    models: Path
    task: str = "digits"

    @property
    def what(self) -> str:
        """The task's name without its parameters."""
        return self.task.partition(":")[0]


class Experiment(ABC):
    """One of a paper's experiments. Subclasses are final frozen dataclasses; their defaults are the quick version."""

    key: str

    @abstractmethod
    def jobs(self, kept: Kept) -> list[Job[str, Any]]:
        """Return remaining jobs that can be done now; it is called again after them, until it returns none.

        Keys begin with the experiment's own, unless two experiments share a job.
        """

    @abstractmethod
    def finding(self, kept: Kept) -> Finding:
        """Return the finding, once no jobs are left. It must be quick and deterministic."""


def missing(jobs: Sequence[Job[str, Any]], kept: Kept) -> list[Job[str, Any]]:
    """Return the jobs whose results are not kept yet."""
    return [job for job in jobs if job.key not in kept]
