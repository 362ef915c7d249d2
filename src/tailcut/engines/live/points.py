"""Points in a worker's course, by name: whoever tests a run can watch them, and strike there. Normally nobody does.

submitting ─▶ submitted ─▶ reducing ─▶ (segment … ─▶ summed) ─▶ reduced ─▶ applying ─▶ applied ─▶ reported
                          └▶ pulling ─▶ applying ─▶ applied
an epoch:  stopped ─▶ entering ─▶ (offering | copying ─▶ copied) ─▶ entered
a return to a checkpoint:  resumed
a checkpoint:  staging ─▶ staged ─▶ published
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Watcher: TypeAlias = Callable[[str, int, bytes, tuple[int, ...]], None]
"""Is told the point, the version it is about, and where one is applied the log's chain after it and who is in it."""


def _nobody(point: str, version: int, chain: bytes, accepted: tuple[int, ...]) -> None:
    """Watch nothing."""


_watcher: Watcher = _nobody
_wants_chain = False


def watch(watcher: Watcher | None, wants_chain: bool = True) -> None:
    """Tell this one from now on, in this process; None for nobody.

    Args:
        watcher: is told.
        wants_chain: whether it wants to know what takes time to work out.
    """
    global _watcher, _wants_chain
    _watcher, _wants_chain = watcher or _nobody, watcher is not None and wants_chain


def is_watched() -> bool:
    """Whether it is worth working out what a watcher would be told."""
    return _wants_chain


def at(point: str, version: int, chain: bytes = b"", accepted: tuple[int, ...] = ()) -> None:
    """This worker has come there."""
    _watcher(point, version, chain, accepted)
