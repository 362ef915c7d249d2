"""The roll call before a run: every worker says Hello once, and all must be alike, or replicas would drift apart.

A replacement controller calls the roll too, and learns from it where the run stands. It waits for a limited
time only: workers that compute for long, or have died, join the run later, or never.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import final

from tailcut.engines.live.controller.words import distinct, workers
from tailcut.engines.live.messages import BROADCAST, Hello
from tailcut.types import Seconds, WorkerId

GRACE: Seconds = 1.0
"""Seconds that a replacement controller waits for others after the first Hello of a worker of the run."""

LAST: Seconds = 30.0
"""The same, in seconds, if a worker has the last version: missing ones may lack it, and there is no hurry."""

RESTART: Seconds = 30.0
"""Seconds after the last Hello that a run which returns to a checkpoint waits for missing workers to be restarted."""

NUMBERS: Callable[[Hello], str] = lambda hello: hello.alike.numbers  # noqa: E731
MUST_AGREE: dict[str, Callable[[Hello], str]] = {
    "the torch version": lambda hello: hello.alike.torch,
    "the machine": lambda hello: hello.alike.machine,
    "the optimiser": lambda hello: hello.alike.optimiser,
    "names, shapes or types of the parameters": lambda hello: hello.alike.parameters,
    "the parameter initial=": lambda hello: hello.alike.initial,
    "the numbers that the net begins with (as a digest; seed all alike, or leave initial='compare' out)": NUMBERS,
    "the settings": lambda hello: hello.alike.settings,
}
"""The properties that must be equal, and how to read each from a Hello."""


@final
class RollCall:
    """The workers that have said Hello.

    Args:
        workers: number of workers of the run.
        term: term of the controller.
        total: version at which the run ends; None for none.
        resumes: whether newcomers alone may continue the run of an earlier controller, from a checkpoint.
    """

    def __init__(self, workers: int, term: int, total: int | None = None, resumes: bool = False) -> None:
        self._workers, self._term, self._total, self._resumes = workers, term, total, resumes
        self._hellos: dict[WorkerId, Hello] = {}
        self._came: dict[WorkerId, Seconds] = {}

    def __contains__(self, worker: WorkerId) -> bool:
        return worker in self._hellos

    @property
    def complete(self) -> bool:
        """Return whether all workers have said Hello."""
        return len(self._hellos) == self._workers

    @property
    def ends(self) -> Seconds | None:
        """The clock's seconds at which the run begins without missing workers; None for never.

        A worker that was in the run must come first: otherwise a newcomer's state would count as the newest.
        If the run returns to checkpoints, newcomers begin without missing workers after a longer time: a
        killed worker may have no restarts left.
        """
        were_in = [worker for worker, hello in self._hellos.items() if hello.epoch > 0]
        if self._term == 1:
            return None
        if not were_in:
            return max(self._came.values()) + RESTART if self._resumes and self._came else None
        return min(self._came[worker] for worker in were_in) + (LAST if self.has_last else GRACE)

    @property
    def has_last(self) -> bool:
        """Return whether a worker that was in the run has the version at which it ends."""
        versions = (hello.version for hello in self._hellos.values() if hello.epoch > 0)
        return self._total is not None and max(versions, default=0) >= self._total

    @property
    def missing(self) -> list[WorkerId]:
        """The workers that have not said Hello."""
        return [worker for worker in range(self._workers) if worker not in self._hellos]

    @property
    def hellos(self) -> list[Hello]:
        """The Hellos, in the order of the workers."""
        return [self._hellos[worker] for worker in sorted(self._hellos)]

    def add(self, hello: Hello, now: Seconds) -> None:
        """Record a worker's Hello, the first or another one."""
        self._hellos[hello.worker] = hello
        self._came.setdefault(hello.worker, now)

    def remove(self, worker: WorkerId) -> None:
        """Remove a worker that was lost."""
        del self._hellos[worker], self._came[worker]

    def no_place(
        self, hello: Hello, left: Collection[WorkerId] = (), lost: Collection[WorkerId] = ()
    ) -> str | None:
        """Return why a worker cannot have the place it claims, as a sentence; None if it can.

        Args:
            hello: Hello of the worker.
            left: workers that said Hello before and have left or been lost.
            lost: workers whose places are free: they were lost, or missed the roll call.
        """
        if hello.term > self._term:
            return f"This controller, of term {self._term}, was replaced by one of term {hello.term}: talk to that one."
        if not 0 <= hello.worker < self._workers:
            return (
                f"A worker claims place {hello.worker}, but places go from 0 to {self._workers - 1}. "
                "Start as many workers as the controller was told of, numbered from 0."
            )
        there = self._hellos.get(hello.worker)
        if hello.worker in lost:
            return self._unlike(hello)
        if there is not None and _whereabouts(there) != _whereabouts(hello):
            if hello.worker in left:
                return f"Worker {hello.worker} cannot join: the run is under way. Start all workers together."
            return (
                f"Place {hello.worker} is taken by process {there.process} on {there.host}, "
                f"but process {hello.process} on {hello.host} claims it too. Give every worker its own number."
            )
        return None

    def _unlike(self, hello: Hello) -> str | None:
        """Return how a worker that comes back differs from the others, numbers apart; None if it does not."""
        first = self.hellos[0]
        for what, value in MUST_AGREE.items():
            if value is not NUMBERS and value(first) != value(hello):
                own, others = distinct([value(hello), value(first)])
                return (
                    f"Worker {hello.worker} cannot come back: it does not agree with the others on {what}: "
                    f"{own!r}, not {others!r}. Start it with the same."
                )
        return self.other_number(hello)

    def other_number(self, hello: Hello) -> str | None:
        """Return why a worker that was told another number of workers cannot take part; None if the same."""
        if hello.workers == self._workers:
            return None
        return (
            f"Worker {hello.worker} was told of {hello.workers} workers, the controller of {self._workers}. "
            "Give all the same number."
        )

    def difference(self) -> str | None:
        """Return how the workers differ, as a sentence; None if they are alike."""
        compared = [
            (what, value)
            for what, value in MUST_AGREE.items()
            if value is not NUMBERS or self._must_begin_alike
        ]
        differing = [
            f"{what}: {_by_value(self.hellos, value)}"
            for what, value in compared
            if len({value(hello) for hello in self.hellos}) > 1
        ]
        if differing:
            return (
                f"The workers do not agree on {'; and on '.join(differing)}. Start all of them with the same."
            )
        return self._other_history()

    def _other_history(self) -> str | None:
        """Return which two workers hold different histories or numbers at the same version; None if none do.

        Undisturbed runs have equal histories, whatever they train, so the numbers are compared too. A worker
        that is in an epoch says the numbers that it began with, and is compared later, by what it reports.
        """
        first: dict[int, Hello] = {}
        for hello in self.in_step:
            known = first.setdefault(hello.version, hello)
            if known.chain != hello.chain:
                return (
                    f"Workers {known.worker} and {hello.worker} are both at version {hello.version} but not by "
                    "the same updates. Start all of them from one checkpoint."
                )
            if hello.epoch == 0 and hello.version > 0 and NUMBERS(known) != NUMBERS(hello):
                return (
                    f"Workers {known.worker} and {hello.worker} both come from a checkpoint of version {hello.version} "
                    f"but not with the same numbers, {NUMBERS(known)!r} and {NUMBERS(hello)!r} as digests: the "
                    "checkpoints are of different runs. Remove those of the other run; who has none copies the state."
                )
        return None

    @property
    def newest(self) -> Hello:
        """The Hello with the highest version, the first of several, of the workers in the last known epoch.

        A worker that was not in it may have made an update that the others have made anew since.
        """
        return max(self.hellos, key=lambda hello: (hello.term, hello.epoch, hello.version))

    @property
    def in_step(self) -> list[Hello]:
        """The Hellos of the workers whose logs match the newest; all others can only copy a state."""
        newest = self.newest
        last = [hello for hello in self.hellos if (hello.term, hello.epoch) == (newest.term, newest.epoch)]
        return last if newest.epoch else [hello for hello in last if hello.version == newest.version]

    @property
    def with_state(self) -> list[Hello]:
        """The Hellos of the workers that have the state of the newest one. All other workers copy it."""
        return [hello for hello in self.in_step if hello.epoch > 0 or _begins(hello) == _begins(self.newest)]

    @property
    def epoch(self) -> int:
        """The last epoch that any worker knows of."""
        return max(hello.epoch for hello in self.hellos)

    @property
    def _must_begin_alike(self) -> bool:
        """Return whether all nets must hold the same numbers: no update was made, and no state is copied."""
        return all(
            hello.epoch == hello.version == 0 and hello.alike.initial != BROADCAST for hello in self.hellos
        )


def _begins(hello: Hello) -> tuple[str, str]:
    """Return the digests of everything that a worker begins with."""
    return hello.alike.numbers, hello.alike.unsaved


def _whereabouts(hello: Hello) -> tuple[str, int, str]:
    """Return the properties that tell two processes apart."""
    return hello.host, hello.process, hello.address


def _by_value(hellos: Iterable[Hello], value: Callable[[Hello], str]) -> str:
    """Say which workers have which value."""
    having: dict[str, list[WorkerId]] = {}
    for hello in hellos:
        having.setdefault(value(hello), []).append(hello.worker)
    pairs = zip(distinct(list(having)), having.values(), strict=True)
    return ", ".join(f"{shown!r} at {workers(who)}" for shown, who in pairs)
