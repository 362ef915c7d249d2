"""Logs of updates, each as one number: equal numbers mean equal histories."""

from __future__ import annotations

from typing import NamedTuple, final

EMPTY = 0
"""The log without updates."""


class Update(NamedTuple):
    """One update.

    Attributes:
        term: term of the controller that closed the round.
        epoch: epoch of the round.
        version: version of the round; the update makes version + 1.
        accepted: workers whose gradients are in it.
        spoilt: whether one of them was not what its worker had computed.
    """

    term: int
    epoch: int
    version: int
    accepted: tuple[int, ...]
    spoilt: bool = False


@final
class Logs:
    """All logs that the search has met.

    Example:
        >>> logs = Logs()
        >>> one = logs.after(EMPTY, Update(1, 1, 0, (0, 1)))
        >>> two = logs.after(one, Update(1, 1, 1, (1,)))
        >>> logs.length(two), logs.start(two, 1) == one, logs.agree(one, two)
        (2, True, True)
    """

    def __init__(self) -> None:
        self._before, self._updates, self._lengths = [EMPTY], list[Update | None]([None]), [0]
        self._numbers: dict[tuple[int, Update], int] = {}

    def after(self, log: int, update: Update) -> int:
        """Return a log with one more update."""
        number = self._numbers.get((log, update))
        if number is None:
            number = self._numbers[log, update] = len(self._before)
            self._before.append(log)
            self._updates.append(update)
            self._lengths.append(self._lengths[log] + 1)
        return number

    def length(self, log: int) -> int:
        """Return the number of updates in a log, which is the version of the parameters."""
        return self._lengths[log]

    def start(self, log: int, length: int) -> int:
        """Return the log of the first `length` updates; the whole log if it has no more."""
        while self._lengths[log] > length:
            log = self._before[log]
        return log

    def last(self, log: int) -> Update | None:
        """Return the newest update of a log; None if it is empty."""
        return self._updates[log]

    def agree(self, one: int, other: int) -> bool:
        """Return whether one log is the beginning of the other."""
        shorter, longer = sorted((one, other), key=self._lengths.__getitem__)
        return self.start(longer, self._lengths[shorter]) == shorter

    def updates(self, log: int) -> list[Update]:
        """Return the updates of a log in order."""
        found: list[Update] = []
        while (last := self._updates[log]) is not None:
            found.append(last)
            log = self._before[log]
        return found[::-1]

    def tell(self, log: int) -> str:
        """Return a log as text."""
        made = (
            f"{u.version} by {'+'.join(map(str, u.accepted))} in epoch {u.epoch}" for u in self.updates(log)
        )
        return f"[{', '.join(made)}]"
