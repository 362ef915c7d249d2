"""The plan of a training on servers, and its result. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from tailcut.acceptance import SYNCHRONOUS, Acceptance
from tailcut.engines.look import Look
from tailcut.engines.servers.actors import Prepare, prepare_nothing
from tailcut.engines.servers.computing import Setting
from tailcut.errors import ParameterError
from tailcut.events import Settle
from tailcut.learning.recipe import Recipe
from tailcut.learning.tasks.base import Target
from tailcut.policy import Policy
from tailcut.types import RoundRecord, Seconds, WorkerId


@final
@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The settings of a training on servers.

    Attributes:
        setting: the task, its data, delays.
        policy: decides when to stop waiting. acceptance: which gradients count.
        recipe: how gradients become updates.
        workers: number of processes that compute. servers: number of processes that hold the parameters.
        begin_with: workers that must have joined before the first round; None for all. The others join later.
        updates: number after which the run ends. target: ends it earlier, once reached; None for never.
        every: updates between two evaluations of the net.
        late_finish: whether late workers finish (True) or drop their work at the next micro-batch.
        checkpoints: folder to write to and to resume from; None for none.
        keep_every: updates between two checkpoints.
        prepare: called in every new process.
        worker_needs, server_needs: resources that each process asks of its node, by Ray's names: `CPU`,
            `GPU`, and those that nodes were started with.
        patience: seconds to wait for processes, at first or after a death, before the run fails.
        policy_name: name of the policy, for messages; empty where it has none.
    """

    setting: Setting
    policy: Policy
    recipe: Recipe
    workers: int
    servers: int = 1
    begin_with: int | None = None
    acceptance: Acceptance = SYNCHRONOUS
    updates: int = 200
    target: Target | None = None
    every: int = 10
    late_finish: bool = True
    checkpoints: Path | None = None
    keep_every: int = 50
    prepare: Prepare = prepare_nothing
    worker_needs: Mapping[str, float] = field(default_factory=lambda: {"CPU": 1})
    server_needs: Mapping[str, float] = field(default_factory=lambda: {"CPU": 1})
    patience: Seconds = 300.0
    policy_name: str = ""

    def __post_init__(self) -> None:
        for name in ("workers", "servers", "updates", "every", "keep_every"):
            if getattr(self, name) < 1:
                raise ParameterError(f"{name} must be 1 or more, but got {getattr(self, name)}.")
        if self.begin_with is not None and not 1 <= self.begin_with <= self.workers:
            raise ParameterError(
                f"begin_with must be from 1 to the {self.workers} workers, but got {self.begin_with}."
            )
        if self.recipe.average:
            raise ParameterError(
                f"Servers keep no average of the weights, but got average={self.recipe.average}. Give 0."
            )

    @property
    def identity(self) -> dict[str, Any]:
        """The settings that a checkpoint must share so that this run can resume from it."""
        return {
            "seed": self.setting.seed,
            "batch": self.setting.batch,
            "optimiser": self.recipe.optimiser,
            "task": self.setting.name,
            "by_own_count": self.acceptance.keeps_work or self.acceptance.refill,
        }


@final
@dataclass(slots=True, eq=False)
class Result:
    """The result of a training on servers.

    Attributes:
        rounds: the closed rounds, in order. settled: what became of gradients that were pending at a close.
        made: `(updates,)` seconds from the first opening until each update was made.
        looks: the evaluations of the net.
        computed: seconds that a worker took for a gradient, without transfers, by worker and version.
        begun: number of jobs begun. idle: seconds that each worker was idle.
        restored: number of times that a shard was given its parameters again.
        skipped: by version, why no gradient was added to make it. returns: versions gone back to.
        parameters: the parameters at the end. version: their version.
    """

    rounds: list[RoundRecord] = field(default_factory=list)
    settled: list[Settle] = field(default_factory=list)
    made: list[Seconds] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    computed: dict[tuple[WorkerId, int], Seconds] = field(default_factory=dict)
    begun: int = 0
    idle: tuple[Seconds, ...] = ()
    restored: int = 0
    skipped: dict[int, str] = field(default_factory=dict)
    returns: list[int] = field(default_factory=list)
    parameters: Any = None
    version: int = 0
