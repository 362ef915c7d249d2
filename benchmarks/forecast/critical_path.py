"""Time each event of a run: the work that the run waits for, and the work done while its workers compute."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import count
from time import perf_counter

import numpy as np

from tailcut.events import Applied, Arrived, CloseRound, Event, Joined, OpenRound, StartWork, Tick, WakeAt
from tailcut.policy import Policy
from tailcut.round import Rounds
from tailcut.study.timed import Timed
from tailcut.table import Table
from tailcut.types import FloatArray


@dataclass(slots=True)
class Costs:
    """Milliseconds, one entry per event.

    Attributes:
        decide: each single decision.
        opening: handling what opens a round: every worker waits for it.
        close: handling what closes a round, its decision included: every worker waits for it too.
        think: learning, forecasting, planning and the first decision, while the workers compute.
    """

    decide: list[float] = field(default_factory=list)
    opening: list[float] = field(default_factory=list)
    close: list[float] = field(default_factory=list)
    think: list[float] = field(default_factory=list)

    def after(self, rounds: int) -> Costs:
        """Return the costs without the first rounds, which include one-time work and cold caches."""
        early = rounds * len(self.decide) // max(len(self.close), 1)
        return Costs(self.decide[early:], self.opening[rounds:], self.close[rounds:], self.think[rounds:])


def quantile(values: list[float], level: float) -> float:
    """Return a quantile of the values; NaN when there are none."""
    return float(np.quantile(values, level)) if values else float("nan")


def timed_run(table: Table, policy: Policy) -> Costs:
    """Play a whole table on a virtual clock; late work is abandoned."""
    watch = Timed(policy)
    machine, costs = Rounds(watch), Costs()
    queue: list[tuple[float, int, int, Event]] = []
    number = count()

    def push(now: float, kind: int, event: Event) -> None:
        heapq.heappush(queue, (now, kind, next(number), event))

    def work(worker: int, version: int) -> None:
        seconds = float(table.seconds[version, worker])
        push(machine.now + seconds, 0, Arrived(machine.now + seconds, worker, version, seconds))

    for worker in range(table.workers):
        machine.handle(Joined(0.0, worker, int(table.nodes[worker])))
    push(0.0, 2, Applied(0.0, 0))
    while queue and len(costs.close) < table.rounds:
        _, _, _, event = heapq.heappop(queue)
        began = perf_counter()
        commands = machine.handle(event)
        handled = perf_counter()
        commands += machine.think()
        thought = perf_counter()
        for command in commands:
            match command:
                case OpenRound():
                    costs.opening.append(1e3 * (handled - began))
                    costs.think.append(1e3 * (thought - handled))
                    for worker in command.workers:
                        work(worker, command.version)
                case StartWork():
                    work(command.worker, command.version)
                case WakeAt():
                    push(command.now, 1, Tick(command.now))
                case CloseRound():
                    costs.close.append(1e3 * (handled - began))
                    push(machine.now, 2, Applied(machine.now, command.version + 1))
                case _:
                    pass
    costs.decide = [1e3 * seconds for seconds in watch.decisions]
    return costs


def mean(values: list[float]) -> float:
    """Return the mean of the values; NaN when there are none."""
    found: FloatArray = np.array(values)
    return float(found.mean()) if len(found) else float("nan")
