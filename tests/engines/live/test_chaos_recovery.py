"""The cost of faults, from hand-made journals and clocks: the pace of the others, and when a fault is due."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from tailcut.testing.chaos.faults import Fault, Plan, numbered
from tailcut.testing.chaos.folder import Folder
from tailcut.testing.chaos.journals import Life, Line
from tailcut.testing.chaos.recovery import Struck, paces, recoveries
from tailcut.testing.chaos.striking import Striking
from tailcut.testing.chaos.view import View

STOP = Struck(0, "late", 20.0, 0, (), 20, "stop", 10.0)


def life(worker: int, *moments: float) -> Life:
    begun = Line("started", moments[0] - 0.5)
    return Life(worker, 0, (begun, *(Line("applied", at, number) for number, at in enumerate(moments))))


def every(seconds: float, begin: float, end: float) -> list[float]:
    return [begin + seconds * number for number in range(round((end - begin) / seconds))]


def test_the_pace_of_the_others_is_that_of_all_the_time_that_one_stands_still() -> None:
    """Two updates come as quickly as ever, then they take twice as long."""
    slower = [*every(1.0, 0.5, 22.5), *every(2.0, 23.5, 40.5)]
    found = [life(0, *every(1.0, 0.5, 20.5)), life(1, *slower), life(2, *slower)]
    (pace,) = paces(found, [STOP])
    assert pace.before == pytest.approx(1.0)
    assert pace.during == pytest.approx(0.6)


def test_there_is_none_where_nobody_was_there_before_or_somebody_else_was_struck_then() -> None:
    others = [life(1, *every(1.0, 0.5, 40.5))]
    assert paces([life(1, *every(1.0, 12.5, 40.5))], [STOP]) == []
    assert paces(others, [STOP, Struck(1, "late", 12.0, 2, (), 12, "kill")]) == []
    assert paces(others, [STOP, Struck(1, "late", 3.0, 2, (), 3, "stop", 10.0)]) == []
    assert paces(others, [STOP, Struck(1, "late", 3.0, 2, (), 3, "stop", 5.0)]) == paces(others, [STOP])
    assert paces(others, [Struck(0, "late", 20.0, 0, (), 20, "kill")]) == []


def test_who_stood_still_before_a_fault_has_to_go_on_after_it() -> None:
    """One of two other workers is stopped before the fault, and one is stopped during it."""
    found = [life(1, *every(1.0, 0.5, 40.5)), life(2, *every(1.0, 0.5, 40.5))]
    death = Struck(0, "death", 20.0, 0, (), 20, "kill")
    earlier, now = (Struck(n, "stop", at, n, (), 0, "stop", 4.0) for n, at in ((1, 15.0), (2, 17.0)))
    assert [each.go_on for each in recoveries(found[:1], [earlier, death])[1:]] == [pytest.approx(1.5)]
    assert [each.go_on for each in recoveries(found[1:], [now, death])[1:]] == [None]


@dataclass
class Seen:
    """A run in which all is well."""

    newest: int = 5
    taking_part: int = 4
    is_calm: bool = True


def test_a_fault_that_waits_for_calm_keeps_its_distance_too(tmp_path: Path) -> None:
    folder, view = Folder(tmp_path), cast(View, Seen(taking_part=0))
    plan = Plan(numbered([Fault(0, 1, "computing", pause=5.0)]), workers=4)
    folder.prepare(plan)
    striking = Striking(plan, folder)
    striking.look(view, 100.0)
    view = cast(View, Seen())
    for now, armed in ((104.0, False), (105.0, True)):
        striking.look(view, now)
        assert (tmp_path / "armed" / "0").exists() == armed
