"""Synthetic run times and measurements, from which the suites let forecasters and rules learn."""

from __future__ import annotations

import numpy as np

from tailcut.table import Table
from tailcut.types import NO_NODE, BoolArray, FloatArray, IntArray, Measured, RoundRecord, RunTimes


def read_only(array: IntArray | FloatArray | BoolArray) -> None:
    """Make writing into the array an error."""
    array.flags.writeable = False


def run_times(
    workers: IntArray, rng: np.random.Generator, cut: float = 0.0, nodes: int = 0, late: bool = False
) -> RunTimes:
    """Return one round of log-normal run times with a common level, some of them censored; read-only.

    Args:
        workers: `(n,)` ids.
        rng: the only source of randomness.
        cut: probability that a run time is censored, at 0.1 to 1 of its value.
        nodes: number of machines that the workers run on; 0 if unknown.
        late: whether these are late reports.
    """
    n = len(workers)
    seconds = rng.lognormal(0.0, 0.3, n) * rng.choice([1.0, 1.0, 1.0, 2.5])
    observed = rng.random(n) >= cut
    seconds = np.where(observed, seconds, seconds * rng.uniform(0.1, 1.0, n))
    where = workers % nodes if nodes else np.full(n, NO_NODE, dtype=np.int64)
    for array in (seconds, observed, where):
        read_only(array)
    return RunTimes(workers, seconds, observed, where, late)


def table(rounds: int, workers: int, seed: int, holes: bool = False) -> Table:
    """Return log-normal run times, one in eight slow; with `holes` some workers fail and some are absent."""
    rng = np.random.default_rng(seed)
    shape = (rounds, workers)
    seconds = rng.lognormal(0.0, 0.3, shape) * np.where(rng.random(shape) < 0.125, 5.0, 1.0)
    observed = np.ones(shape, dtype=np.bool_)
    if holes:
        # The first worker is always present: a round needs one gradient.
        mortal = np.arange(workers) > 0
        seconds[(rng.random(shape) < 0.1) & mortal] = np.nan
        observed = ~np.isnan(seconds) & ((rng.random(shape) >= 0.1) | ~mortal)
    return Table(seconds, observed, tuple(range(workers)), np.full(workers, NO_NODE, dtype=np.int64))


def shown(record: RoundRecord) -> Measured | None:
    """Return a synthetic measurement of a round: the loss falls, and the noise comes to dominate.

    Every fifth round, and a round without gradients, has none (None).
    """
    if record.version % 5 == 4 or not record.count:
        return None
    batch, gradient = 8, 3.0 * 0.8**record.version
    samples = batch * record.count
    # A single gradient is the mean itself.
    small = samples if record.count == 1 else samples / 2
    return Measured(
        loss=2.0 * 0.9**record.version,
        samples=samples,
        batch=batch,
        big=gradient + 4.0 / samples,
        small=gradient + 4.0 / small,
        small_samples=small,
        rate=0.1,
    )
