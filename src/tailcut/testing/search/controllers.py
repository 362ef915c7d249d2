"""Stores controllers, each as one number: real hubs, each copied before it gets an input.

The answer of a hub depends only on its state and its input, so each answer is computed once. Messages come at
the moment of the last input; time passes only if a hub has asked to be woken, and then exactly until that
moment.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TypeAlias, final

import msgspec

from tailcut.engines.live.controller.hub import Hub
from tailcut.engines.live.controller.orders import SENDER, Answers
from tailcut.engines.live.messages import (
    Applied,
    Close,
    FromController,
    FromWorker,
    Go,
    Limit,
    New,
    Refused,
    State,
)
from tailcut.testing.search.bounds import Bounds, Bug
from tailcut.testing.search.frozen import frozen

NOW = 0.0
"""Time of an input, in seconds: since a hub's clock never runs backwards, this is that of its last input."""

Said: TypeAlias = tuple[tuple[int, FromController], ...]
"""The messages of a controller with the worker that each is for, in order."""


@final
@dataclass(frozen=True, slots=True)
class Facts:
    """The facts about a controller that the search uses.

    Attributes:
        term: term of the controller.
        epoch: its epoch; 0 during the roll call.
        changing: whether an epoch is over and the next has not begun.
        there: workers that have neither left nor been lost.
        lost: workers that were expelled, or whose connection broke without `Bye`.
        joining: workers that join without a state.
        reducing: workers in a reduction.
        serving: workers that have left, and are not released yet.
        oldest: newest version that all workers in `there` are known to have.
        wakes: whether it waits for time to pass.
        ended: whether the run has reached its end, and the workers were told to leave.
        over: whether no worker needs a message any more.
        version: newest version of the run.
        deserted: whether no worker with a state is left, so that a replacement controller follows.
        begun: the last epoch that was announced to its members; 0 for none.
        asking: whether no worker was known to have a state, and all were asked for another Hello.
        why: why the run failed, as a sentence; None if it did not.
    """

    term: int
    epoch: int
    changing: bool
    there: tuple[int, ...]
    lost: frozenset[int]
    joining: frozenset[int]
    reducing: tuple[int, ...]
    serving: frozenset[int]
    oldest: int
    wakes: bool
    ended: bool
    over: bool
    version: int
    deserted: bool
    begun: int
    asking: bool
    why: str | None


@final
class Controllers:
    """All controllers that the search has met.

    Args:
        bounds: limits of the search.
        bug: bug to put in, if it is one of the controller's; None for none.
    """

    def __init__(self, bounds: Bounds, bug: Bug | None = None) -> None:
        self._bounds, self._bug = bounds, bug
        self._hubs: list[bytes] = []
        # Hubs are pickled: a search takes a third less time than with deepcopy.
        self.facts: list[Facts] = []
        self._numbers: dict[Hashable, int] = {}
        self._known: dict[Hashable, tuple[int, Said]] = {}

    def __len__(self) -> int:
        return len(self._hubs)

    @property
    def moves(self) -> int:
        """The number of different pairs of a controller and an input that were answered."""
        return len(self._known)

    def first(self, term: int, follows_loss: bool = False) -> int:
        """Return a new controller, to which no worker has said Hello."""
        return self._keep(self._bounds.hub(term, follows_loss))

    def hear(self, number: int, message: FromWorker) -> tuple[int, Said]:
        """Return the controller after a message, and its messages."""
        if self._bug is Bug.NAIVE_REPEAT and isinstance(message, Applied) and self.facts[number].changing:
            message = State(message.term, message.epoch, message.worker, message.version - 1, message.chain)
        return self._move(number, message, message.worker, lambda hub: hub.handle(message, NOW))

    def lost(self, number: int, worker: int) -> tuple[int, Said]:
        """Return the controller after the connection of a worker has broken, and its messages."""
        return self._move(number, ("lost", worker), SENDER, lambda hub: hub.lost(worker, NOW))

    def tick(self, number: int) -> tuple[int, Said]:
        """Return the controller after the time it waits for has passed, and its messages."""
        return self._move(number, "tick", SENDER, lambda hub: hub.tick(hub.wake_at or NOW))

    def _move(
        self, number: int, what: Hashable, sender: int, act: Callable[[Hub], Answers]
    ) -> tuple[int, Said]:
        known = self._known.get((number, what))
        if known is None:
            hub: Hub = pickle.loads(self._hubs[number])
            answers = [*act(hub), *hub.think()]
            said = tuple(
                (sender if worker == SENDER else worker, self._plain(hub, message))
                for worker, message in answers
                if _matters(worker, message)
            )
            known = self._known[number, what] = (self._keep(hub), said)
        return known

    def _keep(self, hub: Hub) -> int:
        value = frozen(hub)
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = len(self._hubs)
            self._hubs.append(pickle.dumps(hub, pickle.HIGHEST_PROTOCOL))
            self.facts.append(_facts(hub))
        return number

    def _plain(self, hub: Hub, message: FromController) -> FromController:
        """Return a message without times and texts for people, changed as the bug demands if there is one."""
        if isinstance(message, Refused):
            return Refused(message.term, message.epoch, "")
        if isinstance(message, Go):
            return Go(message.term, message.epoch, message.version, None)
        if self._bug is Bug.SHORTEST_LOG and isinstance(message, New):
            members = [worker for worker in message.members if worker not in message.joiners]
            holder = min(members, key=lambda worker: hub.places[worker].has)
            return msgspec.structs.replace(message, base=hub.places[holder].has, holder=holder)
        return message


def _matters(worker: int, message: FromController) -> bool:
    """Return whether a worker may act on a message; the search drops other messages."""
    return not isinstance(message, Limit) and (not isinstance(message, Close) or worker in message.accepted)


def _facts(hub: Hub) -> Facts:
    places = hub.places
    return Facts(
        term=hub.term,
        epoch=hub.epoch,
        changing=hub._epochs.is_over,
        there=tuple(places.there),
        lost=frozenset(places.lost),
        joining=frozenset(places.joining),
        reducing=tuple(places.reducing),
        serving=frozenset(worker for worker in places.left if not places[worker].free),
        oldest=places.oldest,
        wakes=hub.wake_at is not None,
        ended=hub._orders.ended,
        over=hub.over,
        version=hub.version,
        deserted=hub.deserted,
        begun=0 if hub._epochs.new is None else hub._epochs.new.epoch,
        asking=hub._epochs.is_asking,
        why=hub.why,
    )
