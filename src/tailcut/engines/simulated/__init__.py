"""The simulated engine: a virtual clock instead of a real one, run times from a table instead of workers."""

from tailcut.engines.books import InOrder, Jobs
from tailcut.engines.simulated.at_once import closing_at, first_arrivals
from tailcut.engines.simulated.replay import replay
from tailcut.engines.simulated.run import Run
from tailcut.engines.simulated.updates import Updates, updates

__all__ = ["InOrder", "Jobs", "Run", "Updates", "closing_at", "first_arrivals", "replay", "updates"]
