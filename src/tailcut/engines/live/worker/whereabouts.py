"""The place of a worker's thread in its script, found by another thread, for when the run is stuck."""

from __future__ import annotations

import sys
from dis import get_instructions
from threading import get_ident
from types import FrameType
from typing import final

from tailcut.engines.live.messages import MAX_NAME, MAX_PATH, Here, Where

_WRAPPER = "wrapper"
"""Name of the function that torch puts around each of its collectives."""
_ARGUMENTS = 8
"""Most instructions from the name of a method to its call."""
_SCRIPT, _CALLED = "", {"tailcut", "torch", "zmq", *sys.stdlib_module_names}
"""Name for the code of the script, and the packages whose code is not the script's."""


@final
class Whereabouts:
    """Finds the thread that created it, in its script. Any thread may call it."""

    def __init__(self) -> None:
        self._thread = get_ident()

    def __call__(self, asked: Where) -> Here:
        """Return where that thread is."""
        frame = sys._current_frames().get(self._thread)
        return here(asked, frame)


def here(asked: Where, frame: FrameType | None) -> Here:
    """Describe where a thread is: its innermost frame outside of torch, tailcut and Python's own, and its call there.

    Args:
        asked: the request.
        frame: the innermost frame of the thread; None if it has ended.
    """
    call, is_collective = ("wait", True) if frame is not None and _waits(frame) else ("", False)
    while frame is not None:
        package, function = _package(frame), frame.f_code.co_name
        if package == "tailcut":
            call, is_collective = function, False
        elif package == "torch.distributed" and function != _WRAPPER:
            call, is_collective = function, True
        elif package == _SCRIPT:
            code = frame.f_code
            where = (code.co_filename[-MAX_PATH:], frame.f_lineno, code.co_name[:MAX_NAME])
            return Here(asked.term, asked.epoch, *where, call[:MAX_NAME], is_collective)
        frame = frame.f_back
    return Here(asked.term, asked.epoch, "", 0, "", call[:MAX_NAME], is_collective)


def _waits(frame: FrameType) -> bool:
    """Tell whether the innermost frame calls a method `wait` that is not written in Python.

    A collective with `async_op=True` returns such an object; the `wait` of threads and processes is Python.
    """
    if _package(frame) != _SCRIPT:
        return False
    before = [each for each in get_instructions(frame.f_code) if each.offset <= frame.f_lasti]
    # The arguments, such as a time limit, stand between the name and the call.
    names = [each.argval for each in before[-_ARGUMENTS:] if each.opname in ("LOAD_ATTR", "LOAD_METHOD")]
    return bool(before) and before[-1].opname.startswith("CALL") and "wait" in names


def _package(frame: FrameType) -> str:
    """Return `tailcut`, `torch.distributed`, another package that these call, or nothing for the code of the script."""
    top, _, rest = str(frame.f_globals.get("__name__", "")).partition(".")
    if top == "torch" and rest.partition(".")[0] == "distributed":
        return "torch.distributed"
    return top if top in _CALLED else _SCRIPT
