"""Named points in a worker's execution, which tests watch, and where they inject faults. Normally unused.

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
"""Gets the point, its version, and where an update is applied its history hash and the workers in it."""


def _nobody(point: str, version: int, chain: bytes, accepted: tuple[int, ...]) -> None:
    """Do nothing at a point."""


_watcher: Watcher = _nobody
_wants_chain = False


def watch(watcher: Watcher | None, wants_chain: bool = True) -> None:
    """Set the watcher of all points in this process; None removes it.

    Args:
        watcher: is called at every point.
        wants_chain: whether it wants the history hash and other values that take time to compute.
    """
    global _watcher, _wants_chain
    _watcher, _wants_chain = watcher or _nobody, watcher is not None and wants_chain


def is_watched() -> bool:
    """Return whether a watcher wants the values that take time to compute."""
    return _wants_chain


def at(point: str, version: int, chain: bytes = b"", accepted: tuple[int, ...] = ()) -> None:
    """Tell the watcher that this worker has reached a point."""
    _watcher(point, version, chain, accepted)
