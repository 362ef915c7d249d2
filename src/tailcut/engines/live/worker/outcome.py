"""What a call of `step()` came to."""

from __future__ import annotations

from dataclasses import dataclass

from tailcut.types import Seconds, WorkerId


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happened in one `step()`.

    Attributes:
        version: updates that the parameters now have.
        accepted: whether this worker's gradient is in an update.
        members: whose gradients are in the last update applied here; empty where none was, or a whole state was
            copied.
        waited: seconds in `step()` before it was clear what happens with the gradient.
        saved: seconds that the others did not wait for this worker: from the close of its round to its arrival. 0
            where it was in time, and where it stopped early: what the others were saved then, nobody knows.
        applied: updates applied, this one and those that were missed; also those that are in a copied state.
        over: whether the run has ended.
        rejected: whether this worker's gradient was of no use to anybody: not finite, or of no samples.
    """

    version: int
    accepted: bool
    members: tuple[WorkerId, ...]
    waited: Seconds
    saved: Seconds
    applied: int
    over: bool
    rejected: bool = False

    @property
    def replayed(self) -> int:
        """Updates applied that were made without this worker."""
        return self.applied - self.accepted
