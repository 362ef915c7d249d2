"""At the end of a run: who was slow, in a few lines and as `stragglers.json`."""

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
"""Run times that are kept for the report; of longer runs it looks at the last ones."""


@final
class Straggling(Listener):
    """Tells of stragglers when the run is over.

    Args:
        folder: of the run.
        workers: how many.
        say: is told a few lines.
    """

    def __init__(self, folder: RunFolder, workers: int, say: Callable[[str], None]) -> None:
        self._folder, self._say = folder, say
        self._most = min(MOST_ROUNDS, MOST_CELLS // max(workers, 1))
        self._rows, self._tally, self._newest = Rows(self._most), Tally(), -1

    def round(self, record: RoundRecord) -> None:
        """A round more. Where the same was told before it is made again, and the first one no longer counts."""
        if record.version <= self._newest:
            self._count_again()
        else:
            self.known(record)

    def settled(self, settle: Settle) -> None:
        """A late run time."""
        self.known(settle)

    def known(self, line: RoundRecord | Settle) -> None:
        """A line of the record that counts."""
        if isinstance(line, RoundRecord):
            self._newest = line.version
            self._rows.take(line)
            self._tally.take(line)
        else:
            self._rows.settle(line)
            self._tally.settle(line)

    def back(self, version: int, why: str) -> None:
        """Count again what is left of the record, which is told first."""
        self._count_again()

    def skipped(self, version: int, why: str) -> None:
        """Likewise."""
        self._count_again()

    def look(self, standing: Standing, now: Seconds) -> None:
        """Not before the end."""

    def end(self, standing: Standing, now: Seconds) -> None:
        """Tell."""
        facts = straggler_facts(self._rows.times(), self._tally.shares)
        for line in report(facts, self._tally.rounds):
            self._say(line)
        told = {"rounds": self._tally.rounds, "workers": [asdict(one) for one in facts]}
        with replacing(self._folder.stragglers) as file:
            file.write((json.dumps(told, indent=1) + "\n").encode())

    def give_up(self) -> None:
        """There is nothing to let go of."""

    def _count_again(self) -> None:
        self._rows, self._tally, self._newest = Rows(self._most), Tally(), -1
        hand_on(self._folder.root, self.known)
