"""A worker that gives its state to one that joins keeps the copy no longer than it takes."""

from __future__ import annotations

from member_script import ME, OTHER, scene

from tailcut.engines.live.messages import Go


def test_a_state_is_offered_until_everybody_who_joins_has_it() -> None:
    with scene() as it:
        assert it.step(it.close(ME)).version == 1
        assert it.offered == [(0, False)], "nobody joined at first"
        it.step(it.new(2, 1, joiners=(OTHER,), holder=ME), it.close(ME, epoch=2, needed=-1))
        assert it.offered[1:] == [(1, True)], "the other has nothing yet"
        it.step(it.close(ME, epoch=2, needed=1))
        it.step(it.close(ME, epoch=2, needed=2))
        assert it.offered[1:] == [(1, True), (1, False)], "and is told of once"


def test_a_word_of_the_epoch_before_does_not_end_an_offer() -> None:
    with scene() as it:
        it.step(it.close(ME))
        late = it.close(OTHER, epoch=1, needed=1)
        it.step(it.new(2, 1, joiners=(OTHER,), holder=ME), late, it.close(ME, epoch=2, needed=-1))
        assert it.offered[1:] == [(1, True)]


def test_a_round_without_the_holder_ends_its_offer_too() -> None:
    with scene() as it:
        it.step(it.close(ME))
        it.other.applies(it.own.log.get(0))
        it.step(it.new(2, 1, joiners=(OTHER,), holder=ME), it.close(ME, epoch=2, needed=-1))
        it.other.applies(it.own.log.get(1))
        missed = it.close(OTHER, epoch=2, needed=1)
        it.other.makes(OTHER)
        it.step(missed, Go(1, 2, 3, None))
        assert it.offered[1:] == [(1, True), (1, False)]
