"""The callbacks by which a driver reports to its caller and asks it."""

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
    """The callbacks of a driver.

    Attributes:
        after_update: called with every new manifest; returns whether the run should end.
        keep: called with every new manifest too, once the rounds have handled it (all but the last).
        skipped: called with a version that no gradient was added to make, and the reason.
        restore: returns the manifest to go back to when parameters are lost.
        back: called with the version of that manifest, and the reason.
        heard: called with every gradient as it arrives, unless its job was dropped.
        look: called several times a second.
        say: called with messages to the user, about deaths for instance.
    """

    after_update: Callable[[Manifest], bool]
    keep: Callable[[Manifest], None]
    skipped: Callable[[int, str], None]
    restore: Callable[[], Awaitable[Manifest]]
    back: Callable[[int, str], None]
    heard: Callable[[Done], None]
    look: Callable[[Driver], None]
    say: Callable[[str], None]
