"""Time the parts of a worker's step, one by one."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import tailcut
from tailcut.engines.live.worker import updating


class Phases:
    """The seconds that each part of one worker's `step()` has taken so far.

    Args:
        opt: optimizer whose steps are timed from now on.
    """

    def __init__(self, opt: tailcut.Optimizer) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        it = opt._member
        for name, whose, what in (
            ("pack the gradient", it._flat, "pack"),
            ("see whether it is finite", it._flat, "finite"),
            ("wait for the close", it._inbox, "next"),
            ("reduce", updating, "reduce"),
            ("unpack the mean", it._flat, "unpack"),
            ("optimiser's step", it._replica, "apply"),
        ):
            setattr(whose, what, self._timed(name, getattr(whose, what)))

    def _timed(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*given: Any, **named: Any) -> Any:
            began = time.perf_counter()
            try:
                return call(*given, **named)
            finally:
                self.seconds[name] += time.perf_counter() - began

        return timed
