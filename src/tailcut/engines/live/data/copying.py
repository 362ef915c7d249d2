"""Fetching the whole state of another worker, over a connection to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from time import monotonic, sleep
from typing import Any

import zmq
from torch import Tensor

from tailcut.engines.live.data.copies import CopyError, state_of
from tailcut.engines.live.data.search import PullError
from tailcut.engines.live.messages import Copy
from tailcut.engines.live.wire import encode
from tailcut.types import Seconds

AGAIN: Seconds = 10.0
"""Seconds after which a holder that has not answered is asked again: the request may have been lost."""
PAUSE: Seconds = 0.01
"""Seconds after which a holder that has no state to give yet is asked again."""
LOOK_UP: Seconds = 0.02
"""Seconds between two checks whether the state is still wanted."""
MOST_FRAMES = 1 << 18
"""Most frames of a state: one for each tensor, and a head."""
MOST_STATE = 1 << 40
"""Most bytes of a state where no limit is given."""
_TIMES, _MORE = 16, 1 << 24


def room_for(state: Any) -> int:
    """Return the most bytes of a state at a worker that has trained, given the state of one that has not.

    Optimizers keep several values for each parameter, some of them in higher precision.
    """
    return _TIMES * _bytes_in(state) + _MORE


def copied(
    line: zmq.Socket[bytes], asked: Copy, timeout: Seconds, enough: Callable[[], bool], most_bytes: int
) -> Any:
    """Return the state of a holder, as soon as it offers it; None where it is not wanted any more.

    Args:
        line: socket that is connected to the holder.
        asked: the request, with the version.
        timeout: longest wait, in seconds.
        enough: returns whether nothing more is wanted; called again and again.
        most_bytes: most bytes that the state can have.

    Raises:
        PullError: the holder did not give it in time.
        CopyError: what it gave is no state.
    """
    until = monotonic() + timeout
    while monotonic() < until and not enough():
        line.send(encode(asked))
        frames = _first_answer(line, min(until, monotonic() + AGAIN), enough)
        if len(frames) > 1:
            _check(frames, most_bytes)
            return state_of([each.buffer for each in frames])
        sleep(PAUSE)
    if enough():
        return None
    holder = line.getsockopt_string(zmq.LAST_ENDPOINT)
    raise PullError(
        f"The worker at {holder} gave no copy of its state for {timeout:g} s. Raise max_wait, or start again."
    )


def _first_answer(line: zmq.Socket[bytes], until: Seconds, enough: Callable[[], bool]) -> Sequence[zmq.Frame]:
    """Return the frames of the first answer; none where none comes in time, or it is not wanted any more."""
    while (left := until - monotonic()) > 0 and not enough():
        if line.poll(ceil(1000 * min(left, LOOK_UP))):
            return line.recv_multipart(copy=False)
    return []


def _check(frames: Sequence[zmq.Frame], most_bytes: int) -> None:
    size = sum(len(each) for each in frames)
    if len(frames) > MOST_FRAMES or size > most_bytes:
        raise CopyError(
            f"A state of {size} bytes in {len(frames)} frames came; at most {most_bytes} in {MOST_FRAMES} can."
        )


def _bytes_in(state: Any) -> int:
    if isinstance(state, Tensor):
        return state.nbytes
    if isinstance(state, dict):
        return sum(map(_bytes_in, state.values()))
    return sum(map(_bytes_in, state)) if isinstance(state, list | tuple) else 0
