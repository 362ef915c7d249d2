"""Detects that workers wait for each other forever: some in `step()`, others in a collective of the script.

A collective of the script needs all workers. A worker that waits in `step()` comes to it only after the round, and the
round waits for those in the collective. Where a script has several optimizers, each with rounds of its own, a worker
may also wait in `step()` of another one. Silence alone may also be long computing, so workers are asked where they are.
Without clock and socket: the time is an argument, and the workers to ask are returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from tailcut.engines.live.controller.places import Doing, Places
from tailcut.engines.live.controller.words import seconds, workers
from tailcut.engines.live.messages import Here
from tailcut.types import Seconds, WorkerId

QUIET: Seconds = 3.0
"""Silence of all workers, in seconds, after which they are asked where they are if one waits in `step()`."""
CONFIRM: Seconds = 2.0
"""Pause before they are asked again, in seconds: a collective that completes takes less."""
MAX_PAUSE: Seconds = 60.0
"""Longest pause between two questions in one silence, in seconds. Each pause is twice the one before."""
MAX_ASKED, MAX_WAITING_ASKED = 64, 4
"""Most workers to ask of those that do not wait in `step()`, and of those that do."""
BUSY = (Doing.COMPUTES, Doing.DROPS)
"""Activities of a worker whose script runs."""
MAX_PLACES = 4
"""Most different places that the sentence names."""
STEP = "step"
"""The call in which a worker waits for a round."""
OF_COLLECTIVES = (
    "A collective of the script's own needs all workers, but workers skip versions. Call it only where opt.every(k) is "
    "true, or between the epochs of opt.epochs()."
)
OF_STEPS = (
    "Some wait in step() of one optimizer of the script, and the others in step() of another one: a worker that was "
    "started again or cut off can be a step ahead in one of them. With several optimizers use a policy that goes on "
    "without late workers, such as bayes."
)
"""Causes of a deadlock, and what to do about them."""


@final
class Deadlock:
    """The search for a deadlock in one run. A deadlock is reported once.

    Args:
        max_wait: seconds of silence after which the run ends.
    """

    def __init__(self, max_wait: Seconds) -> None:
        self._max_wait = max_wait
        self._is_found = False
        # The moment since when nothing was heard, and when to ask next.
        self._since, self._due, self._pause = -1.0, 0.0, QUIET
        self._asked: tuple[WorkerId, ...] = ()
        self._answers: dict[WorkerId, Here] = {}
        self._suspected: dict[WorkerId, Here] | None = None

    def to_ask(self, places: Places, now: Seconds) -> tuple[WorkerId, ...]:
        """Return the workers to ask now where they are; none most of the time."""
        if places.last_heard != self._since:
            self._since, self._due, self._pause = places.last_heard, places.last_heard + QUIET, QUIET
            self._suspected = None
        waiting = places.waiting
        busy = [worker for worker in places.there if places[worker].doing in BUSY]
        # A worker that does something else is in tailcut, and speaks before long.
        is_quiet = len(waiting) + len(busy) == len(places.there)
        if self._is_found or now < self._due or not (waiting and busy and is_quiet):
            return ()
        self._due, self._pause = now + self._pause, min(2.0 * self._pause, MAX_PAUSE)
        self._asked = (*busy[:MAX_ASKED], *waiting[:MAX_WAITING_ASKED])
        self._answers = {}
        return self._asked

    def heard(self, worker: WorkerId, here: Here, places: Places, now: Seconds) -> str | None:
        """Take the answer of a worker; return a sentence where it completes the proof that nothing can move.

        Args:
            worker: worker that answers.
            here: its answer.
            places: the activity of every worker.
            now: the clock's seconds.
        """
        self._answers[worker] = here
        if self._is_found or set(self._asked) != self._answers.keys() or places.last_heard != self._since:
            return None
        busy = {w: here for w, here in self._answers.items() if places[w].doing in BUSY}
        # A busy worker that waits in step() waits in that of another optimizer.
        if not busy or not all(here.is_collective or here.call == STEP for here in busy.values()):
            self._suspected = None
            return None
        if self._suspected != busy:
            self._suspected, self._due = busy, now + CONFIRM
            return None
        self._is_found = True
        return self._sentence(
            OF_COLLECTIVES if any(each.is_collective for each in busy.values()) else OF_STEPS
        )

    def _sentence(self, why: str) -> str:
        by_place: dict[tuple[str, int, str, str, bool], list[WorkerId]] = {}
        for worker, it in sorted(self._answers.items()):
            by_place.setdefault((it.file, it.line, it.function, it.call, it.is_collective), []).append(worker)
        said = [_described(place, who) for place, who in by_place.items()]
        more = len(said) - MAX_PLACES
        said = [*said[:MAX_PLACES], *([f"others are at {more} more places"] if more > 0 else [])]
        return (
            f"Workers wait for each other, and nothing can move: {'; '.join(said)}. {why} "
            f"Otherwise the run ends after {seconds(self._max_wait)} of silence (max_wait)."
        )


def _described(place: tuple[str, int, str, str, bool], who: Sequence[WorkerId]) -> str:
    file, line, function, call, is_collective = place
    what = (
        ("are in" if len(who) > 1 else "is in")
        if is_collective
        else ("wait in" if len(who) > 1 else "waits in")
    )
    return f"{workers(who)} {what} {call or 'step'}(), at {file or '?'}:{line} ({function or '?'})"
