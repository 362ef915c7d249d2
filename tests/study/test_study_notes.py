"""Notes: each appears exactly when the reader must be told, with its number."""

from __future__ import annotations

import numpy as np
import pytest

from tailcut.names import entrant
from tailcut.study.compare import Setting, compare
from tailcut.study.source import Recorded
from tailcut.table import Table
from tailcut.types import BoolArray, FloatArray

LONG, WORKERS = 100, 8


def _notes(
    seconds: FloatArray, *specs: str, observed: BoolArray | None = None, late_finish: bool = False
) -> tuple[str, ...]:
    dense = Table.dense(seconds)
    table = dense if observed is None else Table(seconds, observed, dense.names, dense.nodes)
    setting = Setting(late_finish=late_finish, warmup=0)
    return compare(Recorded("t", "", table), [entrant(spec) for spec in specs], setting).notes


def _even(rounds: int = LONG) -> FloatArray:
    return np.ones((rounds, WORKERS))


def _some_slow(share: float, slow: float = 100.0) -> FloatArray:
    """Return run times in seconds in which all workers but one are slow in a share of the rounds."""
    seconds = _even()
    seconds[: round(share * LONG), 1:] = slow
    return seconds


def test_a_long_clean_table_needs_no_notes() -> None:
    assert _notes(_even(), "wait-all", "backup:b=1", "bandit") == ()


def test_censored_run_times_are_counted() -> None:
    observed = np.ones((LONG, WORKERS), dtype=np.bool_)
    observed[4, 2] = observed[7, 3:6] = False
    seconds = _even()
    seconds[9, 0] = np.nan
    observed[9, 0] = False
    (note,) = _notes(seconds, "wait-all", observed=observed)
    # An absent worker is not censored.
    assert note.startswith("4 of 799 run times are censored")


def test_absent_workers_alone_need_no_note() -> None:
    seconds = _even()
    seconds[50:, 3] = np.nan
    assert _notes(seconds, "wait-all") == ()


@pytest.mark.parametrize(("rounds", "short"), [(2, True), (99, True), (100, False)])
def test_a_short_table_is_called_short(rounds: int, short: bool) -> None:
    notes = _notes(_even(rounds), "wait-all")
    assert len(notes) == short
    assert all(note.startswith(f"Only {rounds} rounds: ") for note in notes)


def test_where_late_workers_finish_the_clairvoyant_is_no_bound() -> None:
    (note,) = _notes(_even(), "wait-all", late_finish=True)
    assert "it is no bound in this mode" in note


@pytest.mark.parametrize(("share", "told"), [(0.1, False), (0.11, True), (0.3, True)])
def test_a_clairvoyant_that_rushes_is_told(share: float, told: bool) -> None:
    notes = [note for note in _notes(_some_slow(share), "wait-all") if "it rushes" in note]
    assert len(notes) == told
    assert all(f"in {share:.0%} of the rounds" in note for note in notes)


def test_a_quarter_of_the_workers_is_no_rush() -> None:
    seconds = _some_slow(0.3)
    seconds[:, 1] = 1.0
    assert _notes(seconds, "wait-all") == ()


def test_what_counts_parts_or_stale_gradients_is_set_apart() -> None:
    notes = _notes(_even(), "wait-all", "drop-compute:micro=4", "backup", "async", "stale-sync:share=1")
    (note,) = [note for note in notes if "Not comparable" in note]
    assert "Not comparable with the rest: drop-compute:micro=4, async, stale-sync:share=1. " in note
    assert len(notes) == 1


def test_who_drops_the_slow_work_is_named_with_its_share() -> None:
    # One worker of eight is always slow and always cut: the slowest tenth is its alone.
    seconds = _even()
    seconds[:, 7] = 2.0
    (note,) = _notes(seconds, "wait-all", "backup:b=1", "backup:b=0", "backup:b=2")
    assert "by backup:b=1, backup:b=2 (backup:b=1: 0%)" in note
    assert "stopping:fair=50" in note


@pytest.mark.parametrize(("cut", "told"), [(50, False), (60, True)])
def test_half_as_often_as_the_mean_is_the_limit(cut: int, told: bool) -> None:
    # Ten workers: the slowest tenth of the work is the last worker's, taken when it is fast enough.
    seconds = np.tile(np.linspace(1.0, 1.09, 10), (LONG, 1))
    seconds[:, 9] = 2.0
    seconds[:cut, 9] = 3.0
    notes = _notes(seconds, "deadline:seconds=2.5")
    shares = 9 + (LONG - cut) / LONG
    assert ((LONG - cut) / LONG < 0.5 * shares / 10) == told
    assert len([note for note in notes if "slowest tenth" in note]) == told


def test_bounds_and_what_is_set_apart_are_not_blamed_for_dropping_slow_work() -> None:
    seconds = _even()
    seconds[:, 7] = 20.0
    notes = _notes(seconds, "wait-all", "async")
    assert [note for note in notes if "slowest tenth" in note] == []


def test_too_few_gradients_for_deciles_blame_nobody() -> None:
    notes = _notes(np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]]), "wait-all", "backup:b=1")
    assert [note[:4] for note in notes] == ["Only"]


def test_notes_stand_together_in_one_order() -> None:
    observed = np.ones((20, WORKERS), dtype=np.bool_)
    observed[3, 3] = False
    seconds = _even(20)
    seconds[:, 7] = 2.0
    seconds[:5, 1:] = 100.0
    notes = _notes(seconds, "backup:c=1", "drop-compute", observed=observed, late_finish=True)
    starts = ["1 of 160", "Only 20", "The whole-source", "Late workers", "Not comparable", "The slowest"]
    assert [note.startswith(start) for note, start in zip(notes, starts, strict=True)] == [True] * 6
