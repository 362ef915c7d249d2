"""The report on stragglers at the end of a run covers only the updates that count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from tests.engines.live.hub_scripts import Fleet
from tests.engines.records.recorded import asked, hub_of

from tailcut.engines.records.files import RunFolder
from tailcut.engines.records.listener import Listener, Several
from tailcut.engines.records.read import read_run
from tailcut.engines.records.run_files import RunFiles
from tailcut.engines.records.straggling import Straggling
from tailcut.table import Table

TABLE = Table.dense(np.random.default_rng(3).uniform(0.5, 1.5, size=(40, 3)))


class Run:
    """Some rounds, recorded as a run is."""

    def __init__(self, place: Path, rounds: int) -> None:
        self._folder = RunFolder(place)
        files = RunFiles(self._folder, asked(), calendar=lambda: 0.0)
        self.listener: Listener = Several((files, Straggling(self._folder, 3, lambda line: None)))
        self._hub = hub_of(TABLE, "wait-all", "finish", self.listener)
        self._fleet = Fleet(self._hub, TABLE)
        self._fleet.run(rounds)

    def again(self, version: int) -> None:
        """The update of a version was lost with all who had it, and is made again."""
        self.listener.round(
            next(each for each in read_run(self._folder.root).rounds if each.version == version)
        )

    def told(self) -> Any:
        self.listener.end(self._hub, self._fleet.now)
        return json.loads(self._folder.stragglers.read_text())


def test_updates_that_were_undone_are_not_told_of(tmp_path: Path) -> None:
    went_back = Run(tmp_path / "back", 30)
    went_back.listener.back(10, "The parameters are gone.")
    told = went_back.told()
    assert told["rounds"] == 10
    assert told == Run(tmp_path / "short", 10).told()
    assert told != Run(tmp_path / "long", 30).told()


def test_a_round_that_is_told_twice_counts_once(tmp_path: Path) -> None:
    twice = Run(tmp_path / "twice", 10)
    twice.again(9)
    assert twice.told() == Run(tmp_path / "once", 10).told()


def test_gradients_that_were_lost_count_as_lost(tmp_path: Path) -> None:
    skipped = Run(tmp_path / "skipped", 10)
    skipped.listener.skipped(4, "The gradients are gone with their node.")
    usual, told = Run(tmp_path / "usual", 10).told(), skipped.told()
    assert told["rounds"] == 10
    assert [each["accepted"] for each in usual["workers"]] == [1.0] * 3
    assert [each["accepted"] for each in told["workers"]] == [0.9] * 3
