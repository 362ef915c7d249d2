"""The training job: plain data that the command line writes and every worker process reads."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import final

import numpy as np

from tailcut.engines.slow.delays import Delays
from tailcut.errors import ParameterError
from tailcut.types import Seconds

DDP = "ddp"
"""Plain DistributedDataParallel, which is no policy."""
UNTIL_CLOSED = "+until-closed"
_JOB, _DELAYS = "job.json", "delays.npy"


@final
@dataclass(frozen=True, slots=True)
class Arm:
    """One way to train.

    Attributes:
        policy: its name, or `ddp`.
        until_closed: whether workers check for the close between micro-batches, and abandon late work.

    Example:
        >>> Arm("bayes", until_closed=True).name, Arm("ddp").name
        ('bayes+until-closed', 'ddp')
    """

    policy: str
    until_closed: bool = False

    @property
    def name(self) -> str:
        """The name of the arm in tables and files."""
        return self.policy + UNTIL_CLOSED * self.until_closed

    @property
    def is_ddp(self) -> bool:
        """Return whether this is plain DDP, without a policy."""
        return self.policy == DDP


def arms_of(text: str, until_closed: bool = False) -> tuple[Arm, ...]:
    """Return the arms of `a,b,c`, each once.

    Args:
        text: policies, or `ddp`; with `+until-closed` after it an arm checks for the close between
            micro-batches.
        until_closed: whether all arms do; plain DDP cannot.

    Example:
        >>> [arm.name for arm in arms_of("ddp,bayes", until_closed=True)]
        ['ddp', 'bayes+until-closed']
    """
    specs = list(dict.fromkeys(spec.strip() for spec in text.split(",")))
    if "" in specs:
        raise ParameterError(f"--policy has an empty name in {text!r}. Separate names by single commas.")
    found = [
        Arm(spec.removesuffix(UNTIL_CLOSED), spec.endswith(UNTIL_CLOSED) or (until_closed and spec != DDP))
        for spec in specs
    ]
    if any(arm.is_ddp and arm.until_closed for arm in found) or (until_closed and text.strip() == DDP):
        raise ParameterError("ddp waits for everybody, whatever is closed. Leave until-closed away from it.")
    return tuple(dict.fromkeys(found))


@final
@dataclass(frozen=True, slots=True)
class Job:
    """The training job of every worker.

    Attributes:
        task: name of the task, with parameters.
        arms: arms to train, one after the other, each from the same first weights.
        workers: number of processes.
        updates: number of updates after which an arm ends at the latest.
        target: value of the task's figure at which an arm ends; None: it goes on.
        every: updates between two evaluations of the net, the same for all arms.
        batch: samples in a worker's mini-batch.
        pieces: micro-batches of a mini-batch, if workers check for the close between them.
        rate: learning rate of an update with all workers in it. rule: its dependence on the accepted share.
        optimiser: name of the optimizer.
        slow_by: name of the way in which delays pass.
        seed: seed of weights, data and delays.
        journals: folder of the run's records; None for none.
    """

    task: str
    arms: tuple[Arm, ...]
    workers: int
    updates: int
    target: float | None
    every: int
    batch: int
    pieces: int
    rate: float
    rule: str
    optimiser: str
    slow_by: str
    seed: int
    journals: str | None = None

    def __post_init__(self) -> None:
        for name in ("workers", "updates", "every", "batch"):
            _whole(name, getattr(self, name), 1)
        _whole("micro", self.pieces, 2)
        if not 0.0 < self.rate < math.inf:
            raise ParameterError(f"--lr must be positive, but got {self.rate:g}. Try --lr 0.1.")
        if self.target is not None and not math.isfinite(self.target):
            raise ParameterError(f"--target must be a number, but got {self.target}. Try --target 0.95.")

    def journal(self, arm: Arm) -> str | None:
        """Return the folder of an arm's record, of its own if there are several arms; None for no record."""
        if self.journals is None or len(self.arms) == 1:
            return self.journals
        return str(Path(self.journals) / arm.name.replace(":", "_").replace("/", "_"))


def write_job(folder: Path, job: Job, delays: Delays) -> None:
    """Write a job to the folder where the worker processes read it."""
    np.save(folder / _DELAYS, delays.seconds, allow_pickle=False)
    (folder / _JOB).write_text(json.dumps(asdict(job)), encoding="utf-8")


def read_job(folder: Path) -> tuple[Job, Delays]:
    """Read the job that `write_job` wrote."""
    told = json.loads((folder / _JOB).read_text(encoding="utf-8"))
    arms = tuple(Arm(**arm) for arm in told.pop("arms"))
    return Job(arms=arms, **told), Delays(np.load(folder / _DELAYS, allow_pickle=False))


def notes_file(folder: Path, arm: int, worker: int) -> Path:
    """Return the file for a worker's notes on an arm."""
    return folder / f"{arm}.{worker}.json"


def _whole(name: str, value: int, least: int) -> None:
    if value < least:
        raise ParameterError(f"--{name} must be at least {least}, but got {value}. Try --{name} {least}.")


def spread(seconds: Seconds, sizes: Sequence[int]) -> list[Seconds]:
    """Split a mini-batch's delay over its micro-batches, in proportion to their samples.

    Example:
        >>> spread(0.9, [2, 2, 1])
        [0.36, 0.36, 0.18]
    """
    total = sum(sizes)
    return [seconds * size / total for size in sizes]
