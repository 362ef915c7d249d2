"""The controller of the run that is attacked, in a process of its own, without torch."""

from __future__ import annotations

from dataclasses import dataclass
from multiprocessing.connection import Connection

from tailcut.engines.live.controller.hub import Hub
from tailcut.engines.live.controller.serve import Served, serve
from tailcut.engines.live.keys import Key
from tailcut.forecast import NoForecast
from tailcut.policy import Policy
from tailcut.round import Rounds
from tailcut.rules import WaitAll

WORKERS = 3
PATIENCE_S = 30.0


@dataclass(frozen=True)
class Controlled:
    """The final state of the controller: its result, last epoch, all members ever, and lines it printed."""

    served: Served
    epoch: int
    members: list[int]
    said: list[str]


def control(secret: str, pipe: Connection) -> None:
    """Run the controller in this process, and send its final state to `pipe`."""
    hub = Hub(Rounds(Policy(NoForecast(), WaitAll()), late_finish=True), WORKERS)
    said: list[str] = []
    served = serve(
        hub, "tcp://127.0.0.1:0", pipe.send, max_wait=PATIENCE_S, say=said.append, key=Key.of(secret)
    )
    pipe.send(Controlled(served, hub.epoch, hub.places.all, said))
