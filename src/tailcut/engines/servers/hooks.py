"""What a driver tells and asks whoever runs it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from tailcut.engines.servers.crew import Done
from tailcut.engines.servers.shards import Manifest

if TYPE_CHECKING:
    from tailcut.engines.servers.driver import Driver


@final
@dataclass(frozen=True, slots=True)
class Hooks:
    """Functions that a driver calls.

    Attributes:
        after_update: is told every new manifest; whether the run should end is its answer.
        keep: is told every new manifest too, as soon as what it shows can be learnt (of the last, nothing can).
        skipped: is told which version nothing was added to make, and why.
        restore: the manifest to go back to when parameters are lost.
        back: is told which that was, and why.
        heard: is told every gradient as it comes.
        look: is called many times a second.
        say: is told of deaths, in sentences.
    """

    after_update: Callable[[Manifest], bool]
    keep: Callable[[Manifest], None]
    skipped: Callable[[int, str], None]
    restore: Callable[[], Awaitable[Manifest]]
    back: Callable[[int, str], None]
    heard: Callable[[Done], None]
    look: Callable[[Driver], None]
    say: Callable[[str], None]
