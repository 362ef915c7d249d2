"""The run-time table: how long each worker took in each round. Clusters draw one, traces read and write one."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tailcut.types import NO_NODE, BoolArray, FloatArray, IntArray, Roster, Seconds, WorkerId


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Run times by round and worker.

    Attributes:
        seconds: `(rounds, workers)`, > 0; NaN where the worker took no part in that round.
        observed: `(rounds, workers)` false where the time is only known to exceed `seconds`, and where the
            worker took no part. That gradient never arrived: in a replay the worker leaves after `seconds`.
        names: `(workers,)` name of each worker in the source.
        nodes: `(workers,)` the machine each runs on, `NO_NODE` where unknown.
        source: file or cluster it came from, for messages.
    """

    seconds: FloatArray
    observed: BoolArray
    names: tuple[str | int, ...]
    nodes: IntArray
    source: str = field(default="table", compare=False)

    def __post_init__(self) -> None:
        rounds, workers = self.seconds.shape
        if (
            self.observed.shape != (rounds, workers)
            or len(self.names) != workers
            or len(self.nodes) != workers
        ):
            raise ValueError(
                f"A table of shape {self.seconds.shape} needs as many flags, names and nodes, but got "
                f"{self.observed.shape}, {len(self.names)} and {len(self.nodes)}."
            )

    @staticmethod
    def dense(seconds: FloatArray, nodes: IntArray | None = None, source: str = "table") -> Table:
        """Return a table with workers `0..n-1`, every run time that is not NaN observed."""
        n = seconds.shape[1]
        where = np.full(n, NO_NODE, dtype=np.int64) if nodes is None else nodes
        return Table(seconds, ~np.isnan(seconds), tuple(range(n)), where, source)

    @property
    def rounds(self) -> int:
        """The number of rounds."""
        return int(self.seconds.shape[0])

    @property
    def workers(self) -> int:
        """The number of workers that ever take part."""
        return int(self.seconds.shape[1])

    @property
    def whole(self) -> bool:
        """Return whether every worker is present and observed in every round."""
        return bool(self.observed.all())

    def arrivals(self) -> FloatArray:
        """`(rounds, workers)` seconds, infinite where no gradient ever came."""
        return np.where(self.observed, self.seconds, np.inf)

    def present(self, row: int, now: FloatArray) -> BoolArray:
        """Return `(…, workers)` whether each takes part in a round, whenever it opens; `now` is `(…, 1)`."""
        return np.broadcast_to(~np.isnan(self.seconds[row]), (*now.shape[:-1], self.workers))

    def at(self, row: int, now: Seconds) -> tuple[FloatArray, BoolArray]:
        """Return `(workers,)` run times of a round, whenever it opens, NaN where absent, and whether they are seen."""
        del now
        return self.seconds[row], self.observed[row]

    def run_time(self, row: int, worker: WorkerId, now: Seconds) -> tuple[Seconds, bool]:
        """Return the same as `at` for one worker."""
        del now
        return float(self.seconds[row, worker]), bool(self.observed[row, worker])

    def begun(self, row: int, starts: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Return the same as `at` for `(…, workers)` starts."""
        shape = starts.shape
        return np.broadcast_to(self.seconds[row], shape), np.broadcast_to(self.observed[row], shape)

    def ends_absent(self, worker: WorkerId) -> bool:
        """Return whether a worker leaves after the last row, in which it is absent."""
        return bool(np.isnan(self.seconds[-1, worker]))

    def roster(self, row: int) -> Roster:
        """Return the workers that take part in round `row`, all of them free."""
        present = np.flatnonzero(~np.isnan(self.seconds[row]))
        return Roster(present, self.nodes[present], np.full(len(present), np.nan))
