"""A worker that lacks updates which no worker keeps any more copies the state of another, and resumes."""

from __future__ import annotations

import pytest
import torch
from member_script import ME, OTHER, Scene, scene

from tailcut.engines.live.messages import Go, Hello


def nets_are_equal(it: Scene) -> bool:
    pairs = zip(it.own.replica.module.parameters(), it.other.own.replica.module.parameters(), strict=True)
    return all(torch.equal(mine, theirs) for mine, theirs in pairs)


def hellos(it: Scene) -> list[tuple[int, int, bool]]:
    said = [each for each in it.line.said if isinstance(each, Hello)]
    return [(each.epoch, each.version, each.is_behind) for each in said]


def test_who_is_sent_to_a_version_that_it_cannot_reach_copies_the_state(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with scene(most_versions=2) as it:
        for _ in range(5):
            it.other.makes(OTHER)
        it.other.offers()
        outcome = it.step(Go(1, 1, 5, None), it.new(2, 5, joiners=(ME,)))
        assert hellos(it) == [(0, 0, False), (1, 0, True)]
        assert (outcome.version, outcome.accepted, outcome.over) == (5, False, False)
        assert nets_are_equal(it)
        assert it.step(it.close(ME, epoch=2)).accepted, "it takes part again"
    assert capfd.readouterr().err == (
        "tailcut: The updates of versions 0 to 4 are kept no longer (worker 0 has 3 to 4), so this worker copies the "
        "state of another. Raise log_bytes at all workers, so that more updates are kept.\n"
    )


def test_who_cannot_come_to_the_beginning_of_an_epoch_copies_the_state() -> None:
    with scene(most_versions=2) as it:
        for _ in range(5):
            it.other.makes(OTHER)
        it.other.offers()
        outcome = it.step(it.new(2, 5), it.new(3, 5, joiners=(ME,)))
        assert hellos(it) == [(0, 0, False), (1, 0, True)]
        assert (outcome.version, outcome.accepted) == (5, False)
        assert nets_are_equal(it)


def test_who_was_behind_once_is_not_for_ever() -> None:
    with scene(most_versions=2) as it:
        for _ in range(5):
            it.other.makes(OTHER)
        it.other.offers()
        it.step(Go(1, 1, 5, None), it.new(2, 5, joiners=(ME,)))
        it.other.makes(OTHER)
        it.step(Go(1, 2, 6, None))
        assert nets_are_equal(it)
        assert hellos(it) == [(0, 0, False), (1, 0, True)], "it pulls what is kept"
