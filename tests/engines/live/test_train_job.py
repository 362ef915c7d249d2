"""The options of a training job, and the results made of its workers' notes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tailcut.engines.live.train.job import Arm, Job, arms_of, read_job, spread, write_job
from tailcut.engines.live.train.notes import Notes, Step, read_notes
from tailcut.engines.live.train.summary import summary
from tailcut.engines.look import Look
from tailcut.engines.slow.delays import Delays
from tailcut.errors import ParameterError
from tailcut.learning.tasks.base import Target

JOB = Job(
    task="digits",
    arms=(Arm("ddp"), Arm("bayes", until_closed=True)),
    workers=2,
    updates=10,
    target=None,
    every=2,
    batch=4,
    pieces=2,
    rate=0.1,
    rule="linear",
    optimiser="sgd",
    slow_by="sleep",
    seed=3,
    journals="runs",
)
GOAL = Target("accuracy", 0.9, "least")


def look(version: int, seconds: float, accuracy: float) -> Look:
    return Look(version, seconds, {"accuracy": accuracy})


# Worker 1 misses the first update, is in the second, and works on a third gradient that is not used.
NOTES = [
    Notes(
        [Step(1, 1.0, True, 1, 0.25), Step(2, 2.5, True, 2, 0.5)],
        [look(0, 0.0, 0.1), look(1, 1.5, 0.85), look(2, 2.6, 0.95)],
    ),
    Notes([Step(1, 1.4, False, 0, 0.1), Step(2, 2.4, True, 2, 0.05), Step(2, 2.9, False, 0, 0.0)], []),
]


def test_a_job_is_read_as_it_was_written(tmp_path: Path) -> None:
    delays = Delays(np.array([[0.1, 0.2]]))
    write_job(tmp_path, JOB, delays)
    job, read = read_job(tmp_path)
    assert job == JOB
    assert np.array_equal(read.seconds, delays.seconds)


def test_notes_are_read_as_they_were_written(tmp_path: Path) -> None:
    NOTES[0].write(tmp_path / "notes.json")
    assert read_notes(tmp_path / "notes.json") == NOTES[0]


def test_several_arms_have_journals_of_their_own() -> None:
    assert JOB.journal(JOB.arms[1]) == "runs/bayes+until-closed"
    assert replace(JOB, arms=JOB.arms[:1]).journal(JOB.arms[0]) == "runs"
    assert replace(JOB, journals=None).journal(JOB.arms[0]) is None


def test_arms_by_name() -> None:
    assert arms_of("ddp, bayes,bayes") == (Arm("ddp"), Arm("bayes"))
    assert arms_of("bayes,bayes+until-closed") == (Arm("bayes"), Arm("bayes", until_closed=True))
    assert arms_of("ddp,bayes", until_closed=True) == (Arm("ddp"), Arm("bayes", until_closed=True))


@pytest.mark.parametrize("text", ["ddp+until-closed", "bayes,,ddp", ""])
def test_arms_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        arms_of(text)


def test_delays_are_spread_by_samples() -> None:
    assert spread(0.6, [1, 2, 3]) == pytest.approx([0.1, 0.2, 0.3])


def test_figures_of_an_arm() -> None:
    found = summary("bayes", NOTES, GOAL)
    assert (found.updates, found.gradients, found.begun) == (2, 3, 5)
    assert found.made == (1.0, 2.4)  # The second was there first at worker 1.
    assert found.counts == (1, 2)
    assert found.gradients_per_second == pytest.approx(3 / 2.4)
    assert found.accepted_share == pytest.approx(3 / 5)
    assert found.idle == pytest.approx((0.75, 0.15))
    assert found.idle_share == pytest.approx(0.9 / (2 * 2.4))
    assert found.to_target == 2.4  # When the update was there, not when worker 0 looked at it.
    assert [seconds for _, seconds, _ in found.looks] == [0.0, 1.0, 2.4]


def test_ddp_waits_for_what_a_backward_takes_beyond_its_shortest() -> None:
    assert summary("ddp", NOTES, GOAL, in_backward=True).idle == pytest.approx((0.25, 0.15))


def test_a_target_that_was_not_reached_is_none() -> None:
    assert summary("bayes", NOTES, replace(GOAL, value=0.99)).to_target is None


def test_nothing_done_is_nothing() -> None:
    found = summary("bayes", [Notes(), Notes()], GOAL)
    assert (found.updates, found.gradients_per_second, found.idle_share, found.accepted_share) == (0, 0, 0, 0)
