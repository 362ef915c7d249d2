"""The live benchmarks' own parts: what they inject, how they reckon, and one small controller for real."""

from __future__ import annotations

import pytest
from benchmarks.live import __main__ as command
from benchmarks.live import control
from benchmarks.live.jobs.trouble import ALWAYS, Trouble
from benchmarks.live.measure import Measured, over
from benchmarks.sections import run


def test_chances_are_the_same_in_every_run_and_as_likely_as_said() -> None:
    drawn = [Trouble(0.1, 0.1, 9.0, "", worker=3) for _ in range(2)]
    first, second = ([trouble.seconds for _ in range(2000)] for trouble in drawn)
    assert first == second
    assert set(first) == {0.1, 0.1 * 9.0}
    assert 0.07 < first.count(0.1 * 9.0) / 2000 < 0.13


def test_one_that_is_always_late_always_is() -> None:
    assert {Trouble(0.1, 0.5, 9.0, "sleeps", 0).seconds for _ in range(20)} == {0.1 * ALWAYS}


def test_ratios_are_of_means_over_runs() -> None:
    found = {"ddp": [Measured(10.0, 0.0), Measured(30.0, 0.0)], "bayes": [Measured(50.0, 0.0)]}
    assert over(found, "bayes") == 2.5
    assert over(found, "ddp", "bayes") == 0.4


def test_a_section_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["evn"], command.SECTIONS, command.REPEATS) == 2
    assert "There is no section 'evn'" in capsys.readouterr().err


def test_rounds_of_control_are_timed_one_by_one() -> None:
    seconds = control.rounds(3, "wait-all", 10)
    assert len(seconds) == 9
    assert all(0.0 < each < 5.0 for each in seconds)
