"""The outcome of a call of `step()`."""

from __future__ import annotations

from dataclasses import dataclass

from tailcut.types import Seconds, WorkerId


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one `step()`.

    Attributes:
        version: updates that the parameters now have.
        accepted: whether this worker's gradient is in an update.
        members: workers whose gradients are in the last update applied here; empty where none was, or a whole
            state was copied.
        waited: seconds in `step()` before it was clear what happens with the gradient.
        saved: seconds that the others did not wait for this worker: from the close of its round to its arrival. 0
            where it was in time, and where it stopped early: what the others saved then is not known.
        applied: updates applied, this one and those that were missed; also those that are in a copied state.
        over: whether the run has ended.
        rejected: whether this worker's gradient was unusable: not finite, or of no samples.
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
        """Return the number of updates applied that were made without this worker."""
        return self.applied - self.accepted
