"""Compare a simulated round with the plain forward and backward pass on the same samples, 158 workers."""

from __future__ import annotations

import time

import numpy as np
import torch
from rich.console import Console
from rich.table import Table as Grid

from tailcut import names
from tailcut.engines.simulated.meter import Meter
from tailcut.engines.simulated.training import Look, train
from tailcut.learning.rates import Linear
from tailcut.learning.recipe import Recipe
from tailcut.learning.tasks.base import Task
from tailcut.learning.trainer import Trainer
from tailcut.study.grid.schedule import stream_of

LIMIT = 1.3
WORKERS, ROUNDS, TRIES = 158, 12, 7
CASES = (("digits", 32), ("digits", 128), ("text", 2))


def main() -> bool:
    torch.set_num_threads(1)
    grid = Grid(title=f"simulated over plain, {WORKERS} workers, wait-all; limit {LIMIT}")
    for column in ("task", "samples a worker", "plain ms a round", "simulated ms a round", "ratio"):
        grid.add_column(column, justify="right")
    held = True
    for name, batch in CASES:
        task = names.task(name)
        # Side by side, and the best of several: other work on the machine must not decide.
        pairs = [(plain(task, batch), simulated(task, batch)) for _ in range(TRIES)]
        alone, inside = (1e3 * min(times) / ROUNDS for times in zip(*pairs, strict=True))
        ratio = inside / alone
        held &= ratio <= LIMIT
        grid.add_row(name, str(batch), f"{alone:.1f}", f"{inside:.1f}", f"{ratio:.2f}")
    Console().print(grid)
    return held


def plain(task: Task, batch: int) -> float:
    """Seconds of plain training with one large batch, the drawing of samples included."""
    net = task.net(0)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    workers = np.arange(WORKERS)
    begin = time.perf_counter()
    for number in range(ROUNDS):
        samples = task.batches(workers, np.full(WORKERS, number), batch, 0)
        optimiser.zero_grad()
        task.losses(net, samples).mean().backward()
        optimiser.step()
    return time.perf_counter() - begin


def simulated(task: Task, batch: int) -> float:
    """Seconds of the same under a policy on the virtual clock, without looks at the net."""
    draw = names.source("xeon158").draw(0, ROUNDS)
    entrant = names.entrant("wait-all")
    trainer = Trainer(task, Recipe(0.01, Linear(), "momentum"), WORKERS, batch, 0)
    begin = time.perf_counter()
    train(
        stream_of(entrant, draw, late_finish=False),
        trainer,
        Meter(WORKERS, 0.0, False),
        Look(None, float("inf")),
    )
    return time.perf_counter() - begin


if __name__ == "__main__":
    raise SystemExit(0 if main() else 1)
