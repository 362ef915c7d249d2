"""Settings of all tests: time limits follow the speed of the machine, and tests with processes come first."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from waiting import limit

# Without bytecode files every child process compiles all its imports, which takes half of its time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Processes that tests start load torch's compiler only if they use it; quick_start/sitecustomize.py says how.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(Path(__file__).parent / "quick_start"), os.environ.get("PYTHONPATH")])
)

# A shell that runs tests in the background has them ignore Ctrl-C, and so would the processes that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

STARTERS = {
    "subprocess",
    "multiprocessing",
    "side_by_side",
    "crew",
    "child",
    "carry_out",
    "launch",
    "HEARING",
}
"""Names in a test module that tell that its tests start processes."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Keep modules and tests out of the garbage collector: they stay, and it would look at them each time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of files that start processes, and put those files first.

    They take longest. The short rest fills up both test runners at the end.
    """
    slow = set()
    for item in items:
        module, fixtures = getattr(item, "module", None), getattr(item, "fixturenames", ())
        starts = STARTERS & vars(module).keys() if module else ()
        if starts or "ray" in fixtures or item.get_closest_marker("processes"):
            slow.add(item.path)
    for item in items:
        if item.path in slow:
            item.add_marker(pytest.mark.processes)
    items.sort(key=lambda item: item.path not in slow)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Scale the limit that pytest-timeout sets for the test."""
    marker = item.get_closest_marker("timeout")
    asked = item.config.getoption("timeout")
    seconds = marker.args[0] if marker else float(item.config.getini("timeout")) if asked is None else asked
    item.add_marker(pytest.mark.timeout(limit(seconds)), append=False)
    return (yield)
