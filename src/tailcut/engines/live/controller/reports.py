"""Tracks which workers have still to report an update, and checks that all made the same one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from tailcut.engines.live.messages import Applied
from tailcut.types import WorkerId


@dataclass(slots=True)
class _Update:
    """An update that is being made; `first` is the first report of it."""

    awaited: set[WorkerId]
    first: Applied | None = None


@final
class Reports:
    """Updates by the version they make, each kept until every worker that it was made of has reported it or left."""

    def __init__(self) -> None:
        self._updates: dict[int, _Update] = {}

    def __len__(self) -> int:
        return len(self._updates)

    def expect(self, version: int, accepted: Iterable[WorkerId]) -> None:
        """Expect reports of `version` from the workers that are about to make it."""
        self._updates[version] = _Update(set(accepted))

    def take(self, report: Applied) -> bool:
        """Record a report; return whether it is the first awaited one of its version."""
        update = self._updates.get(report.version)
        if update is None or report.worker not in update.awaited:
            return False
        is_first, update.first = update.first is None, update.first or report
        self._drop(report.version, update, report.worker)
        return is_first

    def drift(self, report: Applied) -> str | None:
        """Return why the run cannot go on after this report; None if it does not contradict the first one."""
        update = self._updates.get(report.version)
        known = None if update is None else update.first
        if known is None or (known.chain, known.numbers) == (report.chain, report.numbers):
            return None
        if known.chain == report.chain:
            return (
                f"The nets of workers {known.worker} and {report.worker} are no longer the same at version "
                f"{report.version}, after the same updates. Change parameters and learning rates only by the "
                "optimiser, its scheduler= and after_update=, the same at every worker, and resume from a checkpoint."
            )
        return (
            f"Workers {known.worker} and {report.worker} came to version {report.version} by different updates: "
            "their nets are no longer the same. Resume from a checkpoint, and please report this."
        )

    def leave(self, worker: WorkerId) -> int | None:
        """Forget a worker that has left; return the version that none can make without it, or None."""
        lost = None
        for version, update in list(self._updates.items()):
            self._drop(version, update, worker)
            if not update.awaited and update.first is None:
                lost = version
        return lost

    def _drop(self, version: int, update: _Update, worker: WorkerId) -> None:
        update.awaited.discard(worker)
        if not update.awaited:
            del self._updates[version]
