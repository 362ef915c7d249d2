"""Controllers as numbers: equal ones behave alike, whatever the clock says, and none is changed by a question."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hub_scripts import applied, arrived, hello
from hypothesis import given
from hypothesis import strategies as st

from tailcut.engines.live.controller.hub import Hub
from tailcut.engines.live.messages import Close, New
from tailcut.testing.search.bounds import Bounds
from tailcut.testing.search.controllers import Controllers
from tailcut.testing.search.frozen import frozen


def told(moments: list[float]) -> Hub:
    """Two rounds of three workers, whose messages come at these moments."""
    hub, clock = Bounds(total=3).hub(1), iter(sorted(moments))
    for worker in range(3):
        hub.handle(hello(worker, 3), next(clock))
    for version in range(2):
        for worker in range(3):
            hub.handle(arrived(worker, version), next(clock))
        for worker in range(3):
            hub.handle(applied(worker, version + 1), next(clock))
    hub.think()
    return hub


@given(st.lists(st.floats(0.0, 100.0), min_size=15, max_size=15))
def test_the_clock_does_not_matter(moments: list[float]) -> None:
    assert frozen(told(moments)) == frozen(told([0.0] * 15))


def test_what_was_said_matters() -> None:
    hub = told([0.0] * 15)
    before = frozen(hub)
    assert frozen(deepcopy(hub)) == before
    hub.handle(arrived(0, 2), 0.0)
    assert frozen(hub) != before


@pytest.mark.parametrize("first", [0, 1, 2])
def test_who_came_first_does_not_matter(first: int) -> None:
    hubs = []
    for order in ((first, (first + 1) % 3), ((first + 1) % 3, first)):
        hub = told([0.0] * 15)
        for worker in order:
            hub.handle(arrived(worker, 2), 0.0)
        hub.think()
        hubs.append(frozen(hub))
    assert hubs[0] == hubs[1]


def test_a_controller_answers_as_the_hub_does_and_stays_as_it_was() -> None:
    controllers = Controllers(Bounds(workers=2, total=1))
    begun = number = controllers.first(1)
    for worker in range(2):
        number, said = controllers.hear(number, hello(worker, 2))
    assert [type(message) for _, message in said] == [New, New]
    for worker in range(2):
        number, said = controllers.hear(number, arrived(worker, 0))
    assert [(to, type(message), message.version) for to, message in said if isinstance(message, Close)] == [
        (0, Close, 0),
        (1, Close, 0),
    ]
    assert controllers.facts[number].reducing == (0, 1)
    assert controllers.facts[begun].there == ()
    moves = controllers.moves
    controllers.hear(begun, hello(0, 2))
    assert controllers.moves == moves, "what was answered once is known"
