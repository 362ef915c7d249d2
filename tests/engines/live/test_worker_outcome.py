"""The outcome of `step()` is the fate of the gradient, also where the worker was away."""

from __future__ import annotations

import math

import pytest
from member_script import ME, OTHER, scene

from tailcut.engines.live.messages import Again, Go, Over
from tailcut.engines.live.worker.inbox import TooLateError


@pytest.mark.parametrize("is_in", [False, True], ids=["thrown away", "in an update of the others"])
def test_after_a_copy_of_the_state_the_gradient_counts_if_that_has_it(is_in: bool) -> None:
    with scene() as it:
        assert it.step(it.close(ME)).accepted
        it.other.applies(it.own.log.get(0))
        it.other.makes(*((OTHER, ME) if is_in else (OTHER,)))
        it.other.makes(OTHER)
        it.other.offers()
        outcome = it.step(Again(1, 2), it.new(3, 3, joiners=(ME,)))
        assert (outcome.version, outcome.accepted, outcome.members) == (3, is_in, ())
        assert it.own.log.positions.of(ME) == 1 + is_in


@pytest.mark.parametrize("is_in", [False, True], ids=["in none", "in the first"])
def test_of_several_updates_caught_up_with_the_gradient_may_be_in_any(is_in: bool) -> None:
    with scene() as it:
        it.other.makes(*((OTHER, ME) if is_in else (OTHER,)))
        it.other.makes(OTHER)
        outcome = it.step(it.new(2, 2))
        assert (outcome.version, outcome.accepted, outcome.members) == (2, is_in, (OTHER,))
        assert (outcome.applied, outcome.replayed) == (2, 2 - is_in)


def test_a_gradient_that_is_not_finite_is_rejected_and_the_next_one_is_not() -> None:
    with scene() as it:
        it.other.makes(OTHER)
        outcome = it.step(Go(1, 1, 1, None), gradient=math.nan)
        assert (outcome.accepted, outcome.rejected) == (False, True)
        outcome = it.step(it.close(ME))
        assert (outcome.accepted, outcome.rejected) == (True, False)


def test_a_gradient_that_was_only_late_is_not_rejected() -> None:
    with scene() as it:
        it.other.makes(OTHER)
        outcome = it.step(Go(1, 1, 1, None))
        assert (outcome.accepted, outcome.rejected) == (False, False)


def test_who_says_hello_again_when_the_run_is_over_gets_the_last_version_and_leaves() -> None:
    with scene() as it:
        it.other.makes(OTHER)
        outcome = it.step(Again(1, 1), Over(1, 1, 1))
        assert (outcome.version, outcome.over) == (1, True)


def test_who_says_hello_again_when_a_later_epoch_is_over_comes_too_late() -> None:
    with (
        scene() as it,
        pytest.raises(TooLateError, match="has ended, at version 1, before this worker could join"),
    ):
        it.step(Again(1, 1), Over(1, 2, 1))
