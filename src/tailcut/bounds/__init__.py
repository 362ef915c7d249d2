"""Bounds: the throughput that hindsight or foresight reaches. They are references, not usable policies."""

from tailcut.bounds.fixed import Fixed, best_deadline, best_static
from tailcut.bounds.foresight import Clairvoyant, clairvoyant, clairvoyant_whole
from tailcut.bounds.in_turn import first_in_turn, in_turn

__all__ = [
    "Clairvoyant",
    "Fixed",
    "best_deadline",
    "best_static",
    "clairvoyant",
    "clairvoyant_whole",
    "first_in_turn",
    "in_turn",
]
