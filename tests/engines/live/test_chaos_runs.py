"""Real processes in trouble, in short: deaths in several phases, of worker 0 and of the controller, and the checker."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailcut.engines.records.read import read_run
from tailcut.errors import ParameterError
from tailcut.testing.chaos.faults import ANYBODY, CONTROLLER, Fault, Plan, at_random, kills, numbered, several
from tailcut.testing.chaos.journals import lives
from tailcut.testing.chaos.recovery import recoveries, strikes
from tailcut.testing.chaos.run import carry_out
from waiting import limit

FAULTS = numbered(
    [
        Fault(0, 2, "computing", calm=False),
        Fault(0, 0, "segment", left=2, calm=False, pause=0.3),
        Fault(0, CONTROLLER, calm=False, pause=1.0),
        Fault(0, 2, "applying", calm=False, pause=0.5),
        Fault(0, 1, "submitting"),
    ]
)
"""Five faults that strike in turn; after the first four, only worker 1 has updates to hand on."""


def test_who_is_killed_comes_back_and_nothing_is_lost(tmp_path: Path) -> None:
    plan = Plan(FAULTS, workers=3, seed=3, size=530_000, unit=0.05, patience=limit(15.0))
    ended = carry_out(plan, tmp_path / "run", limit=limit(120.0))
    verdict = ended.verdict()
    assert (ended.violations, list(verdict.violations)) == ([], []), ended.last_words
    assert ended.missed == 0
    found = recoveries(lives(ended.folder.journals), strikes(ended.folder.strikes))
    assert len(found) == len(FAULTS)
    assert verdict.lives == 3 + sum(fault.victim != CONTROLLER for fault in FAULTS)


def test_nor_is_it_where_they_share_no_memory(tmp_path: Path) -> None:
    faults = numbered([Fault(0, 2, "segment", left=2, calm=False), Fault(0, 1, "segment", left=4, pause=0.3)])
    ended = carry_out(
        Plan(faults, workers=3, size=530_000, shared=False), tmp_path / "run", limit=limit(100.0)
    )
    assert (ended.violations, list(ended.verdict().violations)) == ([], []), ended.last_words
    assert ended.missed == 0


@pytest.mark.parametrize("min_workers", [1, 2])
def test_where_a_joiner_alone_is_left_the_run_returns_to_its_newest_checkpoint(
    tmp_path: Path, min_workers: int
) -> None:
    how = "all but a joiner"
    faults = [Fault(0, 1), Fault(0, ANYBODY, "copying", "orphan", also=(0, 1), calm=False, gap=0, phase=how)]
    kept = {"checkpoint_every": 5, "journal": True, "min_workers": min_workers, "spares_holders": False}
    plan = Plan(numbered(faults), workers=2, size=1000, patience=limit(30.0), **kept)  # type: ignore[arg-type]
    ended = carry_out(plan, tmp_path / "run", limit=limit(150.0))
    assert (ended.violations, list(ended.verdict().violations)) == ([], []), ended.last_words
    assert ended.missed == 0
    said = ended.folder.said.read_text()
    assert "The run returns to the newest checkpoint." in said
    # If two workers are needed, the first may die before a checkpoint is published, and no update follows.
    is_kept = "The run continues from the checkpoint of version" in said
    assert is_kept or (min_workers == 2 and "The run begins anew" in said)
    run = read_run(ended.folder.disk / "run")
    assert run.ending is not None
    assert [each.version for each in run.rounds] == list(range(run.ending.version)), "each counts once"
    assert run.returns or min_workers == 2, "what was made after the checkpoint counts as undone"


def test_plans_are_plain_data_and_follow_from_their_seed(tmp_path: Path) -> None:
    for faults in (kills("pulling", 9, 4, 1), several(8, 2), at_random(50, 8, 3, 2.0)):
        plan = Plan(faults, seed=7, policy="bayes")
        plan.write(tmp_path / "plan.json")
        assert Plan.read(tmp_path / "plan.json") == plan
        assert [fault.number for fault in faults] == list(range(len(faults)))
    assert at_random(50, 8, 3, 2.0) == at_random(50, 8, 3, 2.0)
    assert at_random(50, 8, 3, 2.0) != at_random(50, 8, 4, 2.0)
    assert {fault.victim for fault in kills("applying", 8, 8, 0)} == set(range(8))


def test_deaths_while_checkpointing_come_before_the_file_is_written_in_it_and_after() -> None:
    moments = [
        (fault.point, fault.delay > 0)
        for done in (0, 3, 6, 9, 12, 15, 18)
        for fault in kills("checkpointing", min(3, 20 - done), 8, done)
    ]
    before, within, after = ("staging", False), ("staging", True), ("staged", False)
    assert len(moments) == 20
    assert min(map(moments.count, (before, within, after))) >= 6


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"point": "lunch"}, "but got 'lunch'"),
        ({"deed": "insult"}, "but got 'insult'"),
        ({"victim": CONTROLLER, "point": "segment"}, "from outside"),
    ],
)
def test_a_fault_that_cannot_be_is_refused(more: dict[str, str | int], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Fault(**{"number": 0, "victim": 1, **more})  # type: ignore[arg-type]
