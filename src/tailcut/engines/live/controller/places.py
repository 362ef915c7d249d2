"""What every worker of a run does, as far as the controller was told."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import final

from tailcut.engines.live.messages import Hello
from tailcut.engines.records.standing import At
from tailcut.types import Seconds, WorkerId

NOTHING = -1
"""Stands for the version of a worker that has none."""


class Doing(Enum):
    """What a worker does; `{}` is the version it is at, or goes to."""

    STARTS = "waiting for the run to begin"
    COMPUTES = "computing at version {}"
    WAITS = "waiting in step() with its gradient of version {}"
    REDUCES = "reducing gradients with others, to version {}"
    DROPS = "told to drop what it computed at version {}"
    BROKE = "out of a reduction that did not end, at version {}"
    LEFT = "gone, at version {}"


@dataclass(slots=True)
class Place:
    """One worker.

    Attributes:
        hello: what it said of itself.
        heard: the clock's seconds of its last message.
        doing: what it does, at `version`.
        version: see `Doing`.
        arrivals: how often it came to `step()`.
        has: the newest version that it is known to have.
        cut: the clock's seconds at which the round it computes for was closed without it; None if it was not.
        late: seconds after that at which it arrived.
        free: whether it was told that nobody needs anything of it.
        lost: whether it has vanished without a word.
    """

    hello: Hello
    heard: Seconds
    doing: Doing = Doing.STARTS
    version: int = 0
    arrivals: int = 0
    has: int = 0
    cut: Seconds | None = None
    late: Seconds = 0.0
    free: bool = False
    lost: bool = False

    def standing(self) -> At:
        """What it does, for those who record the run."""
        said, doing = self.hello, self.doing.name.lower()
        return At(said.worker, said.host, said.process, said.node, doing, self.version, self.heard)

    def now_does(self, doing: Doing, version: int) -> None:
        """It does something else from here on."""
        self.doing, self.version, self.cut = doing, version, None

    @property
    def is_next(self) -> bool:
        """Whether it is the worker's turn to say something."""
        return self.doing in (Doing.COMPUTES, Doing.REDUCES, Doing.DROPS)

    @property
    def is_fresh(self) -> bool:
        """Whether it has done nothing since the run began."""
        return self.doing is Doing.COMPUTES and self.arrivals == 0

    def broke_off(self, version: int) -> None:
        """It is at `version`, and nothing of the epoch completes at it any more."""
        self.has = max(self.has, version)
        self.now_does(Doing.BROKE, version)

    def made(self, version: int) -> None:
        """It reports an update: if that is the one it was to make, it computes from there."""
        self.has = max(self.has, version)
        if self.doing is Doing.REDUCES and self.version == version:
            self.doing = Doing.COMPUTES

    def __str__(self) -> str:
        """Who it is and what it does, in words."""
        who = f"worker {self.hello.worker} (process {self.hello.process} on {self.hello.host})"
        never = "" if self.arrivals else "; it has not called step() yet"
        return f"{who}, {self.doing.value.format(self.version)}{never}"


@final
@dataclass(slots=True)
class Places:
    """All workers that ever said Hello and were not refused.

    Attributes:
        finished: the newest version that a worker has left the run with, in order; `NOTHING` if none has.
    """

    finished: int = NOTHING
    _all: dict[WorkerId, Place] = field(default_factory=dict)
    _there: list[WorkerId] = field(default_factory=list)

    def __contains__(self, worker: WorkerId) -> bool:
        return worker in self._all

    def __getitem__(self, worker: WorkerId) -> Place:
        return self._all[worker]

    def get(self, worker: WorkerId) -> Place | None:
        """What a worker does; None for one that never said Hello, or was refused."""
        return self._all.get(worker)

    @property
    def all(self) -> list[WorkerId]:
        """Everybody, those who left too; increasing."""
        return sorted(self._all)

    @property
    def there(self) -> list[WorkerId]:
        """Who has not left; increasing."""
        return self._there

    @property
    def left(self) -> set[WorkerId]:
        """Who has."""
        return self._all.keys() - self._there

    @property
    def lost(self) -> set[WorkerId]:
        """Who has vanished without a word."""
        return {worker for worker, place in self._all.items() if place.lost}

    @property
    def waiting(self) -> list[WorkerId]:
        """Who waits in `step()` for an answer."""
        return [worker for worker in self._there if self._all[worker].doing is Doing.WAITS]

    def standing(self) -> list[At]:
        """What everybody does, for those who record the run."""
        return [self._all[worker].standing() for worker in self.all]

    def take(self, hello: Hello, now: Seconds) -> None:
        """A worker is there, or says so again."""
        known = self._all.get(hello.worker)
        if known is None:
            self._all[hello.worker] = Place(hello, now, version=hello.version, has=hello.version)
            self._there = sorted((*self._there, hello.worker))
        else:
            known.hello, known.heard = hello, now
            known.version = known.has = hello.version

    def leave(self, worker: WorkerId, version: int) -> None:
        """A worker has left in order."""
        self.finished = max(self.finished, version)
        self._remove(worker, version)

    def _remove(self, worker: WorkerId, version: int) -> None:
        self._all[worker].now_does(Doing.LEFT, version)
        self._all[worker].has = version
        self._there = [other for other in self._there if other != worker]

    def lose(self, worker: WorkerId) -> None:
        """A worker has vanished: nobody can have anything of it any more."""
        self._remove(worker, self._all[worker].has)
        self._all[worker].free = self._all[worker].lost = True

    def come_back(self, hello: Hello, now: Seconds) -> None:
        """One that was lost, or never there, joins, with nothing."""
        self._all[hello.worker] = Place(hello, now, has=NOTHING)
        self._there = sorted({*self._there, hello.worker})

    def forget(self, worker: WorkerId) -> None:
        """One that was there before the run began is gone: its place is free."""
        del self._all[worker]
        self._there = [other for other in self._there if other != worker]

    def arrive(self, worker: WorkerId, version: int, now: Seconds) -> bool:
        """A worker has come to `step()`; whether that was its next thing to do."""
        place = self._all[worker]
        place.has = max(place.has, version)
        if place.version != version or place.doing not in (Doing.COMPUTES, Doing.REDUCES):
            return False
        place.late = 0.0 if place.cut is None else now - place.cut
        place.now_does(Doing.WAITS, version)
        place.arrivals += 1
        return True

    def closed_without(self, version: int, now: Seconds) -> None:
        """The round of this version is closed: who computes for it is late from now on."""
        for worker in self._there:
            place = self._all[worker]
            if place.doing in (Doing.COMPUTES, Doing.REDUCES) and place.version == version:
                place.cut = now

    def send_to(self, version: int) -> None:
        """Everybody is told to have this version: who is not known to may have it from now on, and must be asked."""
        for worker in self._there:
            place = self._all[worker]
            if NOTHING < place.has < version and place.doing is not Doing.REDUCES:
                place.now_does(Doing.COMPUTES, version)

    def release(self, everybody: bool = False) -> list[WorkerId]:
        """Who has left, was not told so yet, and holds nothing that somebody who is there might still lack."""
        if len(self._there) == len(self._all):
            return []
        those_there = () if everybody else self._there
        least = min((self._all[worker].has for worker in those_there), default=math.inf)
        found = [worker for worker in sorted(self.left) if not self._all[worker].free]
        found = [worker for worker in found if self._all[worker].has <= least]
        for worker in found:
            self._all[worker].free = True
        return found

    @property
    def lingering(self) -> bool:
        """Whether somebody who has left still waits to be told that nobody needs anything of it."""
        return any(not self._all[worker].free for worker in self.left)

    @property
    def oldest(self) -> int:
        """The version that everybody who is there is known to have."""
        return min((self._all[worker].has for worker in self._there), default=0)

    @property
    def best(self) -> int:
        """The newest version of anybody who is there, or has left but still gives it to others."""
        return max((place.has for place in self._all.values() if not place.lost), default=NOTHING)

    @property
    def reducing(self) -> list[WorkerId]:
        """Who is in a reduction that it has not reported."""
        return [worker for worker in self._there if self._all[worker].doing is Doing.REDUCES]

    @property
    def underway(self) -> list[WorkerId]:
        """Who was sent to a version that it is not known to have."""
        there = ((worker, self._all[worker]) for worker in self._there)
        return [
            worker for worker, it in there if it.doing is Doing.COMPUTES and it.version > it.has > NOTHING
        ]

    @property
    def joining(self) -> list[WorkerId]:
        """Who has nothing yet."""
        return [worker for worker in self._there if self._all[worker].has == NOTHING]

    @property
    def newest(self) -> WorkerId:
        """The first of those who are there with the newest version."""
        return max(self._there, key=lambda worker: self._all[worker].has)

    @property
    def last_heard(self) -> Seconds:
        """When anybody said anything; long ago if nobody ever did."""
        return max((place.heard for place in self._all.values()), default=-math.inf)
