"""The report on stragglers at the end of a run: a few lines, and `stragglers.json`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import final

from tailcut.atomic import replacing
from tailcut.engines.records.files import RunFolder
from tailcut.engines.records.listener import Listener
from tailcut.engines.records.read import hand_on
from tailcut.engines.records.rows import Rows
from tailcut.engines.records.standing import Standing
from tailcut.engines.records.stragglers import report, straggler_facts
from tailcut.engines.records.tally import Tally
from tailcut.events import Settle
from tailcut.types import RoundRecord, Seconds

MOST_CELLS, MOST_ROUNDS = 4_000_000, 50_000
"""Most run times, and most rounds, that are kept for the report: the last ones of a longer run."""


@final
class Straggling(Listener):
    """A listener that reports stragglers when the run is over.

    Args:
        folder: folder of the run.
        workers: number of workers.
        say: is called with each line of the report.
    """

    def __init__(self, folder: RunFolder, workers: int, say: Callable[[str], None]) -> None:
        self._folder, self._say = folder, say
        self._most = min(MOST_ROUNDS, MOST_CELLS // max(workers, 1))
        self._rows, self._tally, self._newest = Rows(self._most), Tally(), -1

    def round(self, record: RoundRecord) -> None:
        """Count a round. If it was counted before, it is made again: then the record is counted again."""
        if record.version <= self._newest:
            self._count_again()
        else:
            self.known(record)

    def settled(self, settle: Settle) -> None:
        """Fill in a late run time."""
        self.known(settle)

    def known(self, line: RoundRecord | Settle) -> None:
        """Count a line of the record."""
        if isinstance(line, RoundRecord):
            self._newest = line.version
            self._rows.take(line)
            self._tally.take(line)
        else:
            self._rows.settle(line)
            self._tally.settle(line)

    def back(self, version: int, why: str) -> None:
        """Count the record again, which has been told of the return before this."""
        self._count_again()

    def skipped(self, version: int, why: str) -> None:
        """Count the record again, which has been told of the lost gradients before this."""
        self._count_again()

    def look(self, standing: Standing, now: Seconds) -> None:
        """Do nothing before the end."""

    def end(self, standing: Standing, now: Seconds) -> None:
        """Print the report, and write `stragglers.json`."""
        facts = straggler_facts(self._rows.times(), self._tally.shares)
        for line in report(facts, self._tally.rounds):
            self._say(line)
        told = {"rounds": self._tally.rounds, "workers": [asdict(one) for one in facts]}
        with replacing(self._folder.stragglers) as file:
            file.write((json.dumps(told, indent=1) + "\n").encode())

    def give_up(self) -> None:
        """Do nothing: there is nothing to release."""

    def _count_again(self) -> None:
        self._rows, self._tally, self._newest = Rows(self._most), Tally(), -1
        hand_on(self._folder.root, self.known)
