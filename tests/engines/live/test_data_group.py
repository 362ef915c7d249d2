"""The process group of an epoch."""

from __future__ import annotations

import subprocess
import sys
from threading import Event
from typing import Any

from tailcut.engines.live.data.group import let_go
from waiting import limit

AT_MOST = limit(60.0)


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


ENDS = """
import time
from tailcut.engines.live.data.group import let_go

class Slow:
    def __del__(self):
        time.sleep(0.3)
        print("the group has ended", flush=True)

let_go([Slow()])
"""


def test_a_process_does_not_end_in_the_midst_of_the_end_of_a_group() -> None:
    """The C++ of a real one would abort it."""
    ended = subprocess.run(
        [sys.executable, "-c", ENDS], capture_output=True, text=True, timeout=limit(100), check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "the group has ended\n", "")
