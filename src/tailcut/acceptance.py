"""The acceptance of gradients, in which synchronous, bounded-stale, softsync and async SGD differ."""

from __future__ import annotations

from dataclasses import dataclass

from tailcut.errors import ParameterError


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A rule that says which arrivals count and what a worker does after its arrival.

    Attributes:
        max_staleness: rounds by which a gradient's version may lag behind the open round; None for no bound. With
            0 the work that a close cuts off is worthless; otherwise it continues and counts in a later round.
        refill: whether a worker starts another mini-batch as soon as it arrived (a round then counts mini-batches,
            a fast worker several times) instead of waiting for the close (a round then counts distinct workers).

    Example:
        >>> SYNCHRONOUS.admits(0), SYNCHRONOUS.admits(1), ASYNCHRONOUS.admits(7)
        (True, False, True)
    """

    max_staleness: int | None = 0
    refill: bool = False

    def __post_init__(self) -> None:
        if self.max_staleness is not None and self.max_staleness < 0:
            raise ParameterError(
                f"max_staleness must be 0 or more, but got {self.max_staleness}. Use None for no bound."
            )

    def admits(self, staleness: int) -> bool:
        """Return whether a gradient `staleness` rounds old is used."""
        return self.max_staleness is None or staleness <= self.max_staleness

    @property
    def keeps_work(self) -> bool:
        """Return whether work that a close cuts off may still count later."""
        return self.max_staleness != 0

    @property
    def is_sequential(self) -> bool:
        """Return whether gradients that arrive at one instant are counted one by one.

        Otherwise a round that closes at that instant takes all of them. Softsync and asynchronous SGD are
        defined by a number of gradients per update. Each worker starts again at once, and a gradient that
        missed its round counts in the next. So a round closes with exactly the number that it waited for.
        """
        return self.refill and self.keeps_work


SYNCHRONOUS = Acceptance()
"""First c distinct workers, the rest is dropped: plain synchronous SGD, backup workers, K-sync."""
BATCH_SYNCHRONOUS = Acceptance(refill=True)
"""First c mini-batches of this version from any workers: K-batch-sync (Dutta et al., arXiv 1803.01113)."""
STALE_SYNCHRONOUS = Acceptance(max_staleness=None)
"""First c distinct workers, of whatever version: K-async."""
ASYNCHRONOUS = Acceptance(max_staleness=None, refill=True)
"""First c mini-batches of whatever version: K-batch-async; softsync with c = n // k; plain async with c = 1."""


def bounded_stale(most: int) -> Acceptance:
    """First c distinct workers, at most `most` rounds old."""
    return Acceptance(max_staleness=most)
