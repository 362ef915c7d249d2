"""Logs of updates, each as one number: equal numbers are equal histories."""

from __future__ import annotations

from typing import NamedTuple, final

EMPTY = 0
"""The log without updates."""


class Update(NamedTuple):
    """One update.

    Attributes:
        term, epoch: it was made in.
        version: of the round; it makes version + 1.
        accepted: whose gradients are in it.
        spoilt: whether one of them was not what its worker had computed.
    """

    term: int
    epoch: int
    version: int
    accepted: tuple[int, ...]
    spoilt: bool = False


@final
class Logs:
    """All logs that were ever seen.

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
        """A log with one update more."""
        number = self._numbers.get((log, update))
        if number is None:
            number = self._numbers[log, update] = len(self._before)
            self._before.append(log)
            self._updates.append(update)
            self._lengths.append(self._lengths[log] + 1)
        return number

    def length(self, log: int) -> int:
        """Updates in it: the version of the parameters."""
        return self._lengths[log]

    def start(self, log: int, length: int) -> int:
        """Its first updates, so many; all if it has no more."""
        while self._lengths[log] > length:
            log = self._before[log]
        return log

    def last(self, log: int) -> Update | None:
        """Its newest update; None where it has none."""
        return self._updates[log]

    def agree(self, one: int, other: int) -> bool:
        """Whether one is the beginning of the other."""
        shorter, longer = sorted((one, other), key=self._lengths.__getitem__)
        return self.start(longer, self._lengths[shorter]) == shorter

    def updates(self, log: int) -> list[Update]:
        """In order."""
        found: list[Update] = []
        while (last := self._updates[log]) is not None:
            found.append(last)
            log = self._before[log]
        return found[::-1]

    def tell(self, log: int) -> str:
        """In words."""
        made = (
            f"{u.version} by {'+'.join(map(str, u.accepted))} in epoch {u.epoch}" for u in self.updates(log)
        )
        return f"[{', '.join(made)}]"
