"""What an experiment is: jobs whose results are kept as plain values, and what is read off them."""

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
"""Results by the key of their job: whatever `json` can write and read."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What all experiments of a command share.

    Attributes:
        makers: names to objects.
        models: folder of run-time models that were trained beforehand.
        task: what is trained.
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
        """What can be done now and has not been; asked again when that is done, until there is nothing left.

        Keys begin with the experiment's own, unless two experiments share a job.
        """

    @abstractmethod
    def finding(self, kept: Kept) -> Finding:
        """What came of it, once no jobs are left. Nothing random, nothing long."""


def missing(jobs: Sequence[Job[str, Any]], kept: Kept) -> list[Job[str, Any]]:
    """Those whose results are not kept yet."""
    return [job for job in jobs if job.key not in kept]
