"""A worker whose controller reads from a script, and another worker that it pulls from, in one process."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import torch
from hub_scripts import ALIKE
from torch import nn

from tailcut.engines.live.data.buffer import FlatBuffer
from tailcut.engines.live.data.log import UpdateLog
from tailcut.engines.live.data.pulling import Puller
from tailcut.engines.live.data.serving import UpdateServer
from tailcut.engines.live.data.updates import Update
from tailcut.engines.live.messages import Close, FromController, FromWorker, Hello, New
from tailcut.engines.live.worker.joining import Own, state_to_offer
from tailcut.engines.live.worker.keeping import Keeping
from tailcut.engines.live.worker.member import Member
from tailcut.engines.live.worker.outcome import Outcome
from tailcut.engines.live.worker.parts import Parts
from tailcut.engines.live.worker.replica import Replica

ME, OTHER = 1, 0
"""The worker that is looked at, and the one that has what it lacks."""


def own(most_versions: int = 100) -> Own:
    """Return net, optimizer, buffer and log of a worker; all workers begin alike."""
    torch.manual_seed(0)
    net = nn.Linear(2, 1)
    log = UpdateLog(most_versions=most_versions)
    return Own(Replica(net, torch.optim.SGD(net.parameters(), lr=0.1)), FlatBuffer(net, share=False), log)


@dataclass
class Script:
    """A line to a controller that has all its answers ready."""

    address: str = "tcp://nowhere:1"
    is_connected: bool = True
    is_turned_away: bool = False
    said: list[FromWorker] = field(default_factory=list)
    coming: deque[FromController] = field(default_factory=deque)

    def send(self, message: FromWorker) -> None:
        self.said.append(message)

    def next(self, seconds: float) -> FromController:
        return self.coming.popleft()

    def waiting(self) -> Iterator[FromController]:
        return iter(())

    def take_renewal(self) -> bool:
        return False


class Other:
    """A worker that makes updates as it is told."""

    def __init__(self, most_versions: int = 100) -> None:
        self.own = own(most_versions)
        self.server = UpdateServer(self.own.log)

    def makes(self, *accepted: int) -> None:
        """The next update, of these; all have the same gradients."""
        flat, log = self.own.flat, self.own.log
        for parameter in self.own.replica.module.parameters():
            parameter.grad = torch.ones_like(parameter)
        flat.pack(samples=1)
        closed = Close(1, 1, log.version, accepted, 1.0, ())
        flat.stamp(closed)
        options = self.own.replica.groups.read()
        self.applies(Update.made(closed, flat.source * len(accepted), log.chain, options))

    def applies(self, update: Update | None) -> None:
        """Apply an update, which must not be None."""
        assert update is not None
        self.own.flat.unpack(update.flat, update.samples)
        self.own.replica.apply(update.scale, update.options)
        self.own.log.append(update)

    def offers(self) -> None:
        """Offer the current state to joiners."""
        self.server.offer(self.own.log.version, state_to_offer(self.own))


@dataclass
class Scene:
    """The worker that is looked at, and the other."""

    member: Member
    own: Own
    line: Script
    other: Other
    offered: list[tuple[int, bool]]

    def new(self, epoch: int, base: int, joiners: tuple[int, ...] = (), holder: int = OTHER) -> New:
        """An epoch of both."""
        return New(1, epoch, (OTHER, ME), (self.other.server.address, "tcp://me:1"), base, holder, joiners)

    def step(self, *coming: FromController, gradient: float = 1.0) -> Outcome:
        """Hand in a gradient; this is what the controller says then, all of which is read."""
        self.line.coming.extend(coming)
        for parameter in self.own.replica.module.parameters():
            parameter.grad = torch.full_like(parameter, gradient)
        outcome = self.member.arrive(samples=1, share=1.0, finite=True)
        assert not self.line.coming
        return outcome

    def close(self, *accepted: int, epoch: int = 1, **more: Any) -> Close:
        """Return a `Close` for the worker's current version."""
        return Close(1, epoch, self.member.version, accepted, 1.0, (), **more)


@contextmanager
def scene(most_versions: int = 100) -> Iterator[Scene]:
    """Both in the first epoch, at version 0."""
    other, mine, line, offered = Other(most_versions), own(), Script(), list[tuple[int, bool]]()
    layout = mine.flat.layout
    with other.server, Puller(layout.length, layout.dtype) as puller:
        parts: Any = (line, mine.replica, mine.flat, mine.log, puller, Keeping(mine, None, 100, 3, None))
        hello = Hello(1, 0, ME, 2, "here", 7, 0, "tcp://me:1", 0, mine.log.chain, ALIKE)
        line.coming.append(New(1, 1, (OTHER, ME), (other.server.address, "tcp://me:1"), 0, OTHER))
        member = Member(
            Parts(*parts, lambda version, frames: offered.append((version, frames is not None))),
            hello,
            lambda new, place: SimpleNamespace(size=lambda: len(new.members)),  # type: ignore[arg-type]
            max_wait=60.0,
        )
        yield Scene(member, mine, line, other, offered)
