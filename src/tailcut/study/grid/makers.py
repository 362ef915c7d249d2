"""What turns the names in a study into objects; handed in, because names are read at the edge only."""

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
        task: name to task.
        source: name to where run times come from.
        entrant: name to policy and acceptance.
    """

    task: Callable[[str], Task]
    source: Callable[[str], Source]
    entrant: Callable[[str], Entrant]
