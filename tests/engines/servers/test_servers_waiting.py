"""A user who waits for workers that do not come gets a message."""

from __future__ import annotations

import pytest

from tailcut.engines.servers.failures import ServersError
from tailcut.engines.servers.waiting import SOON, Waiting


def test_who_is_missing_is_said_once_and_then_it_is_given_up() -> None:
    now, said = 100.0, list[str]()
    waiting = Waiting(4, 60.0, said.append, lambda: now)
    waiting.look({})
    now += SOON + 1
    waiting.look({0: 0, 2: 0})
    waiting.look({0: 0, 2: 0})
    assert len(said) == 1
    assert said[0].startswith(
        "Waits for 2 of 4 workers (1, 3). Every worker and server asks for one processor"
    )
    now = 161.0
    with pytest.raises(ServersError, match=r"After 61 s 1 of 4 workers \(3\) are not there"):
        waiting.look({0: 0, 1: 0, 2: 0})


def test_only_some_of_many_are_named() -> None:
    said, now = list[str](), 0.0
    waiting = Waiting(100, 60.0, said.append, lambda: now)
    waiting.look({})
    now = SOON + 1
    waiting.look({})
    assert "100 of 100 workers (0, 1, 2, 3, 4, 5, 6, 7 …)" in said[0]
