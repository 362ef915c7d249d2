"""Synchronous SGD that stops waiting at the right moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailcut.engines.live.worker.optimizer import Optimizer as Optimizer
    from tailcut.engines.live.worker.outcome import Outcome as Outcome

__all__ = ["Optimizer", "Outcome"]


def __getattr__(name: str) -> Any:
    """What live training needs, imported when it is asked for: simulating must not import torch."""
    if name == "Optimizer":
        from tailcut.engines.live.worker.optimizer import Optimizer

        return Optimizer
    if name == "Outcome":
        from tailcut.engines.live.worker.outcome import Outcome

        return Outcome
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
