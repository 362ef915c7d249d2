"""Synchronous SGD that stops waiting at the right moment."""

from __future__ import annotations

TYPE_CHECKING = False
"""Stand-in for `typing.TYPE_CHECKING`: Ctrl-C while `typing` is being imported would print a traceback."""
if TYPE_CHECKING:
    from typing import Any

    from tailcut.engines.live.worker.optimizer import Optimizer as Optimizer
    from tailcut.engines.live.worker.outcome import Outcome as Outcome

__all__ = ["Optimizer", "Outcome"]


def __getattr__(name: str) -> Any:
    """Import the parts of live training when they are first used: simulations must not import torch.

    Raises:
        MissingExtraError: a package that live training needs is not installed; an `ImportError` with the remedy.
    """
    if name == "Optimizer":
        from tailcut.extras import LIVE, require

        require("tailcut.Optimizer", *LIVE)
        from tailcut.engines.live.worker.optimizer import Optimizer

        return Optimizer
    if name == "Outcome":
        from tailcut.engines.live.worker.outcome import Outcome

        return Outcome
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
