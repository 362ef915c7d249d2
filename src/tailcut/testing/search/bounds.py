"""The limits of a search: number of workers, number of faults of each kind; and bugs that can be put in."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, final

from tailcut.engines.live.controller.hub import Hub
from tailcut.errors import ParameterError
from tailcut.forecast import NoForecast
from tailcut.policy import Decider, Policy
from tailcut.round import Rounds
from tailcut.rules import WaitAll

MOST_WORKERS = 6


class Troubles(NamedTuple):
    """The number of faults of each kind that may still happen.

    Attributes:
        deaths: a worker's process is killed.
        stalls: a reduction that all its workers are in takes so long that one of them leaves it.
        silences: a worker is frozen for so long that the others continue without it; it wakes at any time.
        cuts: a connection to the controller breaks, and is made again.
        restarts: the controller is killed, and a replacement started.
        altogether: most faults of all these kinds together.
        returns: a worker's process is started again; not counted in `altogether`.
    """

    deaths: int = 1
    stalls: int = 1
    silences: int = 1
    cuts: int = 0
    restarts: int = 0
    altogether: int = 2
    returns: int = 1


class Bug(Enum):
    """Bugs of the controller or a worker; the search must find a violation with each."""

    NAIVE_REPEAT = "a round that a death has broken is always made again, though somebody has completed it"
    NO_PROMISE = "who has said which version it has may still complete the reduction that it was in"
    IN_PLACE = "a round is made again from the vector that the attempt before has changed"
    EARLY_CHECKPOINT = "a checkpoint is published when one worker has its version, before all have said so"
    STALE_HOLDER = "who joins gives others updates that it had before, which the epoch may have made anew"
    BEHIND_CHECKPOINT = (
        "a worker that was left behind goes on from its own state, though a newer checkpoint was published"
    )
    SHORTEST_LOG = "a new epoch goes on from the oldest version that a member has"


@final
@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of a search.

    Attributes:
        workers: number of workers.
        total: version at which the run ends.
        epochs: number of epochs after which no more faults happen.
        troubles: number of faults of each kind.
        policy: policy of the controller; it must decide by the number of arrivals, never by their time.
        most_epochs: largest number of epochs; one more counts as a run that makes no progress.
        hasty: whether a replacement controller may continue without a worker that is well but slow, as a
            silence.
        to_the_end: whether the search continues after the last version, until all workers have left.
        checkpoints: whether workers keep checkpoints, to which a run that lost its state returns.
    """

    workers: int = 3
    total: int = 2
    epochs: int = 2
    troubles: Troubles = field(default_factory=Troubles)
    policy: Decider = field(default_factory=lambda: Policy(NoForecast(), WaitAll()))
    most_epochs: int = 16
    hasty: bool = False
    to_the_end: bool = False
    checkpoints: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.workers <= MOST_WORKERS:
            raise ParameterError(f"A search takes 1 to {MOST_WORKERS} workers, but got {self.workers}.")
        for what, value in (("total", self.total), ("epochs", self.epochs)):
            if value < 1:
                raise ParameterError(f"{what} must be at least 1, but got {value}.")

    def hub(self, term: int, follows_loss: bool = False) -> Hub:
        """Return a controller before its roll call."""
        rounds = Rounds(self.policy, late_finish=True)
        return Hub(
            rounds,
            self.workers,
            term=term,
            total=self.total,
            follows_loss=follows_loss,
            resumes=self.checkpoints,
        )
