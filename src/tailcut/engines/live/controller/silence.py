"""Sentences on workers that should have sent a message, and on a run that stands still."""

from __future__ import annotations

from collections.abc import Sequence

from tailcut.engines.live.controller.places import Places
from tailcut.engines.live.controller.words import seconds, workers
from tailcut.types import Seconds, WorkerId

MOST_EXPLAINED = 3
"""Most silent workers that a sentence on a standstill describes one by one."""


def unheard(missing: Sequence[WorkerId], passed: Seconds) -> dict[WorkerId, str]:
    """Return a sentence on each worker that has not said Hello, `passed` seconds into the roll call."""
    return {
        worker: f"No Hello for {seconds(passed)}: worker {worker}. Is it started, with this controller's address?"
        for worker in missing
    }


def silent(places: Places, now: Seconds, limit: Seconds) -> dict[WorkerId, str]:
    """Return a sentence on each worker whose turn it is and that has sent nothing for `limit` seconds."""
    there = [(worker, places[worker]) for worker in places.there]
    return {
        worker: f"Not heard of for {seconds(now - place.heard)}: {place}."
        for worker, place in there
        if place.is_next and now - place.heard >= limit
    }


def standstill(quiet: Seconds, waiting: Sequence[WorkerId], silent: Sequence[str], max_wait: Seconds) -> str:
    """Return the reason why a run ends that stands still.

    Args:
        quiet: seconds for which no message came.
        waiting: workers that wait in `step()`.
        silent: a sentence on each worker that should have sent a message.
        max_wait: seconds that a silence may last.
    """
    meanwhile = f" while {workers(waiting)} waited in step()" if waiting else ""
    more = len(silent) - MOST_EXPLAINED
    said = [*silent[:MOST_EXPLAINED], *([f"So it is with {more} more."] if more > 0 else [])]
    return " ".join(
        [
            f"Nothing was heard for {seconds(quiet)}{meanwhile}.",
            *said,
            f"Raise max_wait, now {seconds(max_wait)}, if it can take longer.",
        ]
    )
