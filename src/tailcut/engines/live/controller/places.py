"""The activity of every worker of a run, as far as the controller knows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import final

from tailcut.engines.live.messages import Hello
from tailcut.engines.records.standing import At
from tailcut.types import Seconds, WorkerId

NOTHING = -1
"""Version of a worker that has no state."""


class Doing(Enum):
    """The activity of a worker; `{}` is the version it is at, or goes to."""

    STARTS = "waiting for the run to begin"
    COMPUTES = "computing at version {}"
    WAITS = "waiting in step() with its gradient of version {}"
    REDUCES = "reducing gradients with others, to version {}"
    DROPS = "told to drop what it computed at version {}"
    BROKE = "out of a reduction that did not end, at version {}"
    LEFT = "gone, at version {}"


@dataclass(slots=True)
class Place:
    """The place of one worker as the controller sees it.

    Attributes:
        hello: its last Hello.
        heard: the clock's seconds of its last message.
        doing: its activity, at `version`.
        version: see `Doing`.
        arrivals: number of times that it came to `step()`.
        has: the newest version that it is known to have.
        cut: the clock's seconds at which the round it computes for was closed without it; None if it was not.
        late: seconds from `cut` to its arrival; 0 if it was in time.
        free: whether it was released: no other worker needs its updates.
        lost: whether it was expelled, or its connection broke without `Bye`.
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
        """Return the worker's activity, for the record of the run."""
        said, doing = self.hello, self.doing.name.lower()
        return At(said.worker, said.host, said.process, said.node, doing, self.version, self.heard)

    def now_does(self, doing: Doing, version: int) -> None:
        """Record the worker's new activity."""
        self.doing, self.version, self.cut = doing, version, None

    @property
    def is_next(self) -> bool:
        """Return whether the worker is expected to send a message."""
        return self.doing in (Doing.COMPUTES, Doing.REDUCES, Doing.DROPS)

    @property
    def is_fresh(self) -> bool:
        """Return whether the worker computes and has never come to `step()`."""
        return self.doing is Doing.COMPUTES and self.arrivals == 0

    def broke_off(self, version: int) -> None:
        """Record that the worker is at `version`, and that nothing of the epoch completes at it any more."""
        self.has = max(self.has, version)
        self.now_does(Doing.BROKE, version)

    def made(self, version: int) -> None:
        """Record an update that the worker reports; if it was to make this one, it computes from there."""
        self.has = max(self.has, version)
        if self.doing is Doing.REDUCES and self.version == version:
            self.doing = Doing.COMPUTES

    def __str__(self) -> str:
        """Return the worker and its activity in words."""
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
        """Return the place of a worker; None if it never said Hello, or was refused."""
        return self._all.get(worker)

    @property
    def all(self) -> list[WorkerId]:
        """All workers, with those that have left; increasing."""
        return sorted(self._all)

    @property
    def there(self) -> list[WorkerId]:
        """The workers that have neither left nor been lost; increasing."""
        return self._there

    @property
    def left(self) -> set[WorkerId]:
        """The workers that have left or been lost."""
        return self._all.keys() - self._there

    @property
    def lost(self) -> set[WorkerId]:
        """The workers that were expelled, or whose connection broke without `Bye`."""
        return {worker for worker, place in self._all.items() if place.lost}

    @property
    def waiting(self) -> list[WorkerId]:
        """The workers that wait in `step()` for an answer."""
        return [worker for worker in self._there if self._all[worker].doing is Doing.WAITS]

    def standing(self) -> list[At]:
        """Return the activity of all workers, for the record of the run."""
        return [self._all[worker].standing() for worker in self.all]

    def take(self, hello: Hello, now: Seconds) -> None:
        """Record a worker's Hello, the first or another one."""
        known = self._all.get(hello.worker)
        if known is None:
            self._all[hello.worker] = Place(hello, now, version=hello.version, has=hello.version)
            self._there = sorted((*self._there, hello.worker))
        else:
            known.hello, known.heard = hello, now
            known.version = known.has = hello.version

    def leave(self, worker: WorkerId, version: int) -> None:
        """Record that a worker has left in order."""
        self.finished = max(self.finished, version)
        self._remove(worker, version)

    def _remove(self, worker: WorkerId, version: int) -> None:
        self._all[worker].now_does(Doing.LEFT, version)
        self._all[worker].has = version
        self._there = [other for other in self._there if other != worker]

    def lose(self, worker: WorkerId) -> None:
        """Record that a worker is lost: no other worker can get its updates any more."""
        self._remove(worker, self._all[worker].has)
        self._all[worker].free = self._all[worker].lost = True

    def come_back(self, hello: Hello, now: Seconds) -> None:
        """Record that a worker that was lost, or never there, joins, without a state."""
        self._all[hello.worker] = Place(hello, now, has=NOTHING)
        self._there = sorted({*self._there, hello.worker})

    def forget(self, worker: WorkerId) -> None:
        """Forget a worker that was lost before the run began: its place is free."""
        del self._all[worker]
        self._there = [other for other in self._there if other != worker]

    def arrive(self, worker: WorkerId, version: int, now: Seconds) -> bool:
        """Record that a worker has come to `step()`; return whether that was expected of it."""
        place = self._all[worker]
        place.has = max(place.has, version)
        if place.version != version or place.doing not in (Doing.COMPUTES, Doing.REDUCES):
            return False
        place.late = 0.0 if place.cut is None else now - place.cut
        place.now_does(Doing.WAITS, version)
        place.arrivals += 1
        return True

    def closed_without(self, version: int, now: Seconds) -> None:
        """Record the close of this version's round: workers that compute for it are late from now on."""
        for worker in self._there:
            place = self._all[worker]
            if place.doing in (Doing.COMPUTES, Doing.REDUCES) and place.version == version:
                place.cut = now

    def send_to(self, version: int) -> None:
        """Record that all workers are told to get this version: any of them may have it from now on."""
        for worker in self._there:
            place = self._all[worker]
            if NOTHING < place.has < version and place.doing is not Doing.REDUCES:
                place.now_does(Doing.COMPUTES, version)

    def release(self, everybody: bool = False) -> list[WorkerId]:
        """Release and return the workers that have left and hold no update that a worker might still lack."""
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
        """Return whether a worker that has left still waits to be released."""
        return any(not self._all[worker].free for worker in self.left)

    @property
    def oldest(self) -> int:
        """The newest version that all workers that are there are known to have."""
        return min((self._all[worker].has for worker in self._there), default=0)

    @property
    def best(self) -> int:
        """The newest version of a worker that is there, or has left in order."""
        return max((place.has for place in self._all.values() if not place.lost), default=NOTHING)

    @property
    def reducing(self) -> list[WorkerId]:
        """The workers in a reduction that they have not reported."""
        return [worker for worker in self._there if self._all[worker].doing is Doing.REDUCES]

    @property
    def underway(self) -> list[WorkerId]:
        """The workers that were sent to a version that they are not known to have."""
        there = ((worker, self._all[worker]) for worker in self._there)
        return [
            worker for worker, it in there if it.doing is Doing.COMPUTES and it.version > it.has > NOTHING
        ]

    @property
    def joining(self) -> list[WorkerId]:
        """The workers that have no state yet."""
        return [worker for worker in self._there if self._all[worker].has == NOTHING]

    @property
    def newest(self) -> WorkerId:
        """The worker with the newest version of those that are there; the first of several."""
        return max(self._there, key=lambda worker: self._all[worker].has)

    @property
    def last_heard(self) -> Seconds:
        """The clock's seconds of the last message of any worker; minus infinity if there was none."""
        return max((place.heard for place in self._all.values()), default=-math.inf)
