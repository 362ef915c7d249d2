"""The claims about reliability: none holds where nothing was seen, or where something never happened."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.reliability import __main__ as command
from benchmarks.reliability import bugs, freeze, soak
from benchmarks.reliability.runs import Outcome, all_struck, at_most, comings_back, goings_on, show
from benchmarks.reliability.search import judged

from tailcut.testing.chaos.bugs import BUGS
from tailcut.testing.chaos.checker import Verdict
from tailcut.testing.chaos.faults import CONTROLLER, Fault, Plan, numbered
from tailcut.testing.chaos.folder import Folder
from tailcut.testing.chaos.processes import Use
from tailcut.testing.chaos.recovery import Pace, Recovery, Struck
from tailcut.testing.chaos.run import Ended
from tailcut.testing.search.explore import Found, Violation

FAULTS = numbered([Fault(0, 1, phase="one"), Fault(0, CONTROLLER, phase="controller")])


def struck(fault: Fault, deed: str = "kill", also: tuple[int, ...] = ()) -> Struck:
    return Struck(fault.number, fault.phase, 1.0, fault.victim, also, 3, deed)


def ended(seconds: float = 9.0) -> Ended:
    return Ended(Folder(Path("nowhere")), 0, "", seconds, 0, 0)


def outcome_of(*found: Recovery, faults: tuple[Fault, ...] = FAULTS) -> Outcome:
    return Outcome(Plan(faults), ended(), Verdict((), 9, 8, 0, 0.0), found)


def used(
    samples: int, last: int = 100, roles: tuple[str, ...] = ("controller", "launcher", "worker 0")
) -> Outcome:
    """All use 100 bytes and 100 files, but in the last third."""
    use = [(float(n), Use(*(2 * (100 if n < 2 * samples // 3 else last,)))) for n in range(samples)]
    return replace(outcome_of(), ended=replace(ended(), uses=dict.fromkeys(roles, use)))


WELL = (
    Recovery(struck(FAULTS[0]), 0.1, 2.0, mixed=False),
    Recovery(struck(FAULTS[1]), 1.0, None, mixed=False),
)
"""The others went on, the worker came back; another controller took its place."""


def test_who_never_goes_on_or_never_comes_back_breaks_the_claim(capsys: pytest.CaptureFixture[str]) -> None:
    worker, controller = WELL
    assert at_most("on", goings_on([outcome_of(*WELL)]), 1.0).holds
    assert at_most("back", comings_back([outcome_of(*WELL)]), 2.0).holds
    never = [outcome_of(replace(worker, go_on=None, back=None), controller)]
    for claim in (at_most("on", goings_on(never), 1.0), at_most("back", comings_back(never), 2.0)):
        assert not claim.holds
        assert "never" in claim.found
    show("killed", {"all": never})
    assert "never" in capsys.readouterr().out


def test_only_workers_that_were_killed_have_to_come_back() -> None:
    stopped = Recovery(struck(FAULTS[0], "stop"), 0.1, None, mixed=False)
    with_it = Recovery(struck(FAULTS[1], also=(2,)), 0.1, None, mixed=False)
    assert comings_back([outcome_of(stopped, WELL[1])]) == []
    assert comings_back([outcome_of(with_it)]) == [float("inf")]


def test_nothing_seen_is_no_claim_that_holds() -> None:
    nothing = at_most("on", [], 1.0)
    assert (nothing.holds, nothing.found) == (False, "nothing")
    assert not all_struck("none", []).holds


def test_a_fault_that_never_struck_breaks_the_claim_and_its_kind_is_told() -> None:
    whole = all_struck("both", [outcome_of(*WELL)])
    assert (whole.holds, whole.found) == (True, "one: 1 of 1, controller: 1 of 1")
    half = all_struck("both", [outcome_of(WELL[0])])
    assert (half.holds, half.found) == (False, "one: 1 of 1, controller: 0 of 1")


@pytest.mark.parametrize(
    ("during", "holds"), [((20.0, 18.0), True), ((10.0, 20.0), False), ((20.0,), False), ((), False)]
)
def test_others_that_are_slower_while_one_stands_still_break_the_claim(
    during: tuple[float, ...], holds: bool
) -> None:
    claim = freeze.as_fast([Pace(20.0, each) for each in during], 2)
    assert claim.holds == holds


def test_a_late_one_is_stopped_when_all_have_run_for_as_long() -> None:
    plan = freeze.with_calm(freeze.plan("computing", 3, freeze.BACKUP))
    first, *others = [fault.pause for fault in plan.faults]
    assert first > freeze.SECONDS
    assert min(others) > 2 * freeze.SECONDS


def test_what_processes_use_is_level_only_if_all_of_them_were_looked_at() -> None:
    assert all(claim.holds for claim in soak.level(used(9)))
    few, no_controller = used(2), used(9, roles=("launcher", "worker 0"))
    for run in (used(9, last=106), used(0), few, no_controller, outcome_of()):
        assert not any(claim.holds for claim in soak.level(run))


def test_a_search_that_stops_early_or_finds_something_breaks_its_claims() -> None:
    part = Found(1000, 5000, 9, whole=False, ends=None, violations=())
    assert [claim.holds for claim in judged(part, 1000)] == [True, True]
    assert [claim.holds for claim in judged(part, 1001)] == [False, True]
    fork = Violation("fork", "There are two.", ())
    assert [claim.holds for claim in judged(replace(part, violations=(fork,)), 1000)] == [True, False]
    assert [claim.holds for claim in judged(replace(part, whole=True, ends=False), 9)] == [True, True, False]


def test_all_that_the_page_names_is_a_section() -> None:
    assert {"search", "fuzz", "soak", "bugs"} <= set(command.SECTIONS)


def test_a_run_that_breaks_off_is_no_proof_that_a_bug_was_found() -> None:
    crashed = [
        "Of worker 2 in life 0: it failed. AttributeError: there is no such thing",
        "Nobody came to the end of the run.",
        "Workers [1] did not come to the end.",
    ]
    assert set(bugs.SHOWS) == set(BUGS)
    for bug in BUGS:
        assert bugs.showing(bug, crashed) == []
    again = "Of worker 0 in life 0: it applied version 7 again, at version 7."
    assert bugs.showing("naive repeat", [*crashed, again]) == [again]
    assert bugs.showing("early publication", [again]) == []
