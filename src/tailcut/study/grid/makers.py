"""Functions that turn names in a study into objects; passed in by `cli`, the only place that has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tailcut.learning.tasks.base import Task
from tailcut.study.contest import Entrant
from tailcut.study.source import Source


@dataclass(frozen=True, slots=True)
class Makers:
    """Functions of modules, so that another process finds them.

    Attributes:
        task: returns the task of a name.
        source: returns the source of run times of a name.
        entrant: returns the policy and acceptance of a name.
    """

    task: Callable[[str], Task]
    source: Callable[[str], Source]
    entrant: Callable[[str], Entrant]
