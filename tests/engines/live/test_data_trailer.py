from __future__ import annotations

import dataclasses

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailcut.engines.live.data.trailer import (
    LENGTH,
    MOST_SAMPLES,
    MOST_WORKERS,
    TrailerError,
    digest,
    samples_in,
    trailer,
)
from tailcut.engines.live.messages import Close
from tailcut.errors import ParameterError

CLOSE = Close(term=2, epoch=3, version=70_000, accepted=(4, 0, 7), scale=0.75, abandon=(1,))

closes = st.builds(
    Close,
    term=st.integers(0, 100),
    epoch=st.integers(0, 100),
    version=st.integers(0, (1 << 48) - 1),
    accepted=st.lists(st.integers(0, 5000), min_size=1, max_size=20, unique=True).map(tuple),
    scale=st.floats(0.0, 10.0),
    abandon=st.just(()),
)


def summed(trailers: list[list[int]]) -> list[float]:
    """Add trailers as a reduction does: in single precision, one after another."""
    total = np.zeros(LENGTH, dtype=np.float32)
    for each in trailers:
        total = (total + np.array(each, dtype=np.float32)).astype(np.float32)
    found: list[float] = total.tolist()
    return found


@given(close=closes, data=st.data())
def test_the_samples_of_all_come_out(close: Close, data: st.DataObject) -> None:
    count = len(close.accepted)
    samples = data.draw(st.lists(st.integers(1, MOST_SAMPLES), min_size=count, max_size=count))
    assert samples_in(summed([trailer(close, each) for each in samples]), close) == sum(samples)


@given(close=closes, other=closes, at=st.integers(0, 19))
def test_one_worker_with_another_close_is_noticed_by_all(close: Close, other: Close, at: int) -> None:
    if digest(close) == digest(other):
        return
    count = len(close.accepted)
    closed = [other if place == at % count else close for place in range(count)]
    sums = summed([trailer(each, 32) for each in closed])
    for each in {close, other} if count > 1 else {close}:
        with pytest.raises(TrailerError, match="cannot be used"):
            samples_in(sums, each)


@pytest.mark.parametrize(
    "change", [{"term": 3}, {"epoch": 4}, {"version": 70_001}, {"accepted": (0, 4, 7)}, {"scale": 0.5}]
)
def test_the_digest_covers_all_that_an_update_depends_on(change: dict[str, object]) -> None:
    assert digest(msgspec.structs.replace(CLOSE, **change)) != digest(CLOSE)


def test_the_digest_does_not_cover_who_abandons() -> None:
    assert digest(msgspec.structs.replace(CLOSE, abandon=())) == digest(CLOSE)


def test_sums_over_the_most_workers_are_exact() -> None:
    """Every piece as large as it can be."""
    close = msgspec.structs.replace(CLOSE, version=(1 << 48) - 1, accepted=tuple(range(MOST_WORKERS)))
    sums = summed([trailer(close, MOST_SAMPLES)] * MOST_WORKERS)
    assert sums[:4] == [4095.0 * 4096] * 4
    assert samples_in(sums, close) == MOST_SAMPLES * MOST_WORKERS


def test_neighbouring_rounds_that_cancel_out_are_noticed() -> None:
    """Rounds 9, 10 and 11 have the mean 10; only the digest tells."""
    closes = [msgspec.structs.replace(CLOSE, version=version) for version in (9, 10, 11)]
    with pytest.raises(TrailerError, match="same Close"):
        samples_in(summed([trailer(each, 8) for each in closes]), closes[1])


@dataclasses.dataclass(frozen=True)
class Damage:
    at: int
    value: float
    words: str


@pytest.mark.parametrize(
    "damage",
    [
        Damage(0, float("nan"), "holds nan"),
        Damage(3, 0.5, "holds 0.5"),
        Damage(5, -1.0, "holds -1.0"),
        Damage(5, 2.0**24, "holds 16777216.0"),
        Damage(12, 2.0, "2 workers contributed, but 3 were accepted"),
        Damage(0, 1.0, "not all of workers 4, 0, 7 meant the same round"),
        Damage(4, 1.0, "not all of workers 4, 0, 7 meant the same Close"),
        Damage(13, 0.0, "3 workers contributed only 0 samples"),
    ],
)
def test_damage_is_named(damage: Damage) -> None:
    sums = summed([trailer(CLOSE, 32)] * 3)
    sums[damage.at] = damage.value
    with pytest.raises(TrailerError, match=rf"The reduction of round 70000 cannot be used: .*{damage.words}"):
        samples_in(sums, CLOSE)


@pytest.mark.parametrize("samples", [0, -1, MOST_SAMPLES + 1])
def test_impossible_samples_are_refused(samples: int) -> None:
    with pytest.raises(ParameterError, match=f"samples={samples}"):
        trailer(CLOSE, samples)


@pytest.mark.parametrize("count", [0, MOST_WORKERS + 1])
def test_impossible_numbers_of_workers_are_refused(count: int) -> None:
    with pytest.raises(ParameterError, match=f"but got {count}"):
        trailer(msgspec.structs.replace(CLOSE, accepted=tuple(range(count))), 1)


@settings(max_examples=30)
@given(close=closes)
def test_long_lists_of_workers_are_shortened_in_sentences(close: Close) -> None:
    sums = summed([trailer(close, 1)] * len(close.accepted))
    sums[4] = (sums[4] + 1) % 4096
    with pytest.raises(TrailerError) as caught:
        samples_in(sums, close)
    assert len(str(caught.value)) < 300
