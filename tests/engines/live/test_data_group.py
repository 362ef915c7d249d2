"""The process group of an epoch."""

from __future__ import annotations

from threading import Event
from typing import Any

from tailcut.engines.live.data.group import let_go

AT_MOST = 10.0


def test_nobody_waits_for_a_group_that_does_not_end() -> None:
    begun, may_end, ended = Event(), Event(), Event()

    class Stubborn:
        """Waits for something when its last reference goes."""

        def __del__(self) -> None:
            begun.set()
            may_end.wait(AT_MOST)
            ended.set()

    held: list[Any] = [Stubborn()]
    let_go(held)
    assert begun.wait(AT_MOST), "it does end, beside"
    assert not ended.is_set()
    may_end.set()
    assert ended.wait(AT_MOST)
