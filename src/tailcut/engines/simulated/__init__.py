"""The simulated engine: a virtual clock instead of a real one, run times from a table instead of workers."""

from tailcut.engines.simulated.at_once import closing_at, first_arrivals
from tailcut.engines.simulated.replay import replay
from tailcut.engines.simulated.run import Run

__all__ = ["Run", "closing_at", "first_arrivals", "replay"]
