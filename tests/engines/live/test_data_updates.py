from __future__ import annotations

import msgspec
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tailcut.engines.live.checkpoints import Positions
from tailcut.engines.live.data.log import UpdateLog
from tailcut.engines.live.data.trailer import TrailerError, trailer
from tailcut.engines.live.data.updates import START, Update, UpdateError, link, read
from tailcut.engines.live.messages import Close
from tailcut.errors import ParameterError

NUMBERS = 5


def made(
    version: int = 0,
    before: bytes = START,
    accepted: tuple[int, ...] = (1, 0),
    epoch: int = 1,
    numbers: int = NUMBERS,
) -> Update:
    """An update of some numbers and the trailer that belongs to it."""
    close = Close(term=1, epoch=epoch, version=version, accepted=accepted, scale=0.5, abandon=(7,))
    end = torch.tensor(trailer(close, 16), dtype=torch.float32) * len(accepted)
    return Update.made(close, torch.cat([torch.arange(numbers) + version / 4, end]), before)


def history(count: int, start: int = 0, before: bytes = START) -> list[Update]:
    updates: list[Update] = []
    for version in range(start, start + count):
        updates.append(made(version, updates[-1].chain if updates else before))
    return updates


def test_an_update_says_how_it_was_made() -> None:
    update = made(version=3, accepted=(2, 5, 1))
    assert (update.version, update.accepted, update.scale, update.samples) == (3, (2, 5, 1), 0.5, 48)
    assert update.follows(START)
    assert not update.follows(update.chain)


def test_a_vector_of_another_round_makes_no_update() -> None:
    close = Close(term=1, epoch=1, version=4, accepted=(1, 0), scale=0.5, abandon=())
    with pytest.raises(TrailerError, match="round 4 cannot be used"):
        Update.made(close, made(version=3).flat, START)


def test_chains_tell_histories_apart() -> None:
    chain = link(START, 1, 1, 0, (0, 1))
    others = [
        link(START, 2, 1, 0, (0, 1)),
        link(START, 1, 2, 0, (0, 1)),
        link(START, 1, 1, 1, (0, 1)),
        link(START, 1, 1, 0, (1, 0)),
        link(START, 1, 1, 0, (0,)),
        link(chain, 1, 1, 0, (0, 1)),
    ]
    assert len({chain, *others}) == 7


@given(
    term=st.integers(0, 1 << 40),
    epoch=st.integers(0, 1 << 40),
    version=st.integers(0, 1 << 47),
    accepted=st.lists(st.integers(0, 5000), min_size=1, max_size=30, unique=True).map(tuple),
    scale=st.floats(allow_nan=False),
    numbers=st.lists(st.floats(width=32), min_size=1, max_size=40),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_bytes_give_back_the_update(
    term: int,
    epoch: int,
    version: int,
    accepted: tuple[int, ...],
    scale: float,
    numbers: list[float],
    dtype: torch.dtype,
) -> None:
    flat = torch.tensor(numbers, dtype=dtype)
    update = Update(
        term, epoch, version, accepted, scale, 77, link(START, term, epoch, version, accepted), flat
    )
    again = read(update.head, memoryview(bytes(update.raw)), torch.empty_like(flat))
    for name in ("term", "epoch", "version", "accepted", "scale", "samples", "chain"):
        assert getattr(again, name) == getattr(update, name)
    assert again.flat.dtype == dtype
    assert bytes(again.raw) == bytes(update.raw)  # to the bit, NaN too
    assert again.follows(START)


@settings(max_examples=200)
@given(data=st.data())
def test_any_changed_byte_is_noticed(data: st.DataObject) -> None:
    update = made()
    head, raw = bytearray(update.head), bytearray(update.raw)
    spoilt = data.draw(st.sampled_from([head, raw]))
    spoilt[data.draw(st.integers(0, len(spoilt) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(UpdateError, match="checksum"):
        read(bytes(head), memoryview(bytes(raw)), torch.empty_like(update.flat))


@settings(max_examples=200)
@given(head=st.binary(max_size=80), raw=st.binary(min_size=16, max_size=16))
def test_rubbish_is_refused(head: bytes, raw: bytes) -> None:
    with pytest.raises(UpdateError):
        read(head, memoryview(raw), torch.empty(4))


def test_a_sound_frame_of_another_kind_is_refused() -> None:
    import struct
    import zlib

    packed = msgspec.msgpack.encode({"version": 3})
    raw = bytes(16)
    head = struct.pack(">I", zlib.crc32(raw, zlib.crc32(packed))) + packed
    with pytest.raises(UpdateError, match="could not be read"):
        read(head, memoryview(raw), torch.empty(4))


def test_updates_of_another_net_are_refused() -> None:
    update = made()
    with pytest.raises(UpdateError, match=r"An update of 84 bytes came; this net's have 22 numbers '<f4'"):
        read(update.head, update.raw, torch.empty(22))
    double = Update(1, 1, 0, (0,), 1.0, 1, START, torch.zeros(2, dtype=torch.float64))
    with pytest.raises(UpdateError, match=r"2 numbers '<f8' came; this net's have 4 numbers '<f4'"):
        read(double.head, double.raw, torch.empty(4))


def test_a_log_grows_in_order() -> None:
    log = UpdateLog()
    assert (log.version, log.span, log.chain) == (0, (0, -1), START)
    updates = history(3)
    for each in updates:
        log.append(each)
    assert (log.version, log.span, log.chain) == (3, (0, 2), updates[-1].chain)
    assert log.get(1) is updates[1]
    assert log.get(3) is None
    assert log.get(-1) is None


def test_a_log_takes_only_what_follows() -> None:
    log = UpdateLog()
    first, second, third = history(3)
    log.append(first)
    with pytest.raises(UpdateError, match="next update of this log is that of version 1, but got 2"):
        log.append(third)
    with pytest.raises(UpdateError, match="version 1 belongs to another history"):
        log.append(made(1, before=made(0, accepted=(3, 4)).chain))
    log.append(second)
    assert log.span == (0, 1)


def test_a_log_is_bounded_in_versions() -> None:
    log = UpdateLog(most_versions=2)
    for each in history(5):
        log.append(each)
        assert log.nbytes <= 2 * each.nbytes
    assert log.span == (3, 4)
    assert log.get(2) is None


def test_a_log_is_bounded_in_bytes_and_keeps_the_newest() -> None:
    size = made().nbytes
    log = UpdateLog(most_bytes=3 * size)
    for each in history(7):
        log.append(each)
    assert (log.span, log.nbytes) == ((4, 6), 3 * size)
    tight = UpdateLog(most_bytes=0)
    for each in history(2):
        tight.append(each)
    assert (tight.span, tight.nbytes) == ((1, 1), size)


@given(count=st.integers(1, 30), versions=st.integers(1, 10), vectors=st.integers(0, 10))
def test_a_log_has_no_gap_and_ends_at_the_newest(count: int, versions: int, vectors: int) -> None:
    log = UpdateLog(most_versions=versions, most_bytes=vectors * made().nbytes)
    for each in history(count):
        log.append(each)
    oldest, newest = log.span
    kept = max(1, min(count, versions, vectors))
    assert (oldest, newest) == (count - kept, count - 1)
    assert [update.version for v in range(oldest, newest + 1) if (update := log.get(v)) is not None] == list(
        range(oldest, newest + 1)
    )


def test_a_log_forgets_what_nobody_needs_but_never_the_newest() -> None:
    log = UpdateLog()
    for update in history(5):
        log.append(update)
    log.forget(3)
    assert (log.span, log.nbytes, log.get(2)) == ((3, 4), 2 * made().nbytes, None)
    log.forget(100)
    assert (log.span, log.version) == ((4, 4), 5)
    log.forget(0)
    assert log.span == (4, 4)


def test_a_log_starts_again_at_a_copied_state() -> None:
    log = UpdateLog()
    log.append(made())
    elsewhere = history(9)
    log.restart(8, elsewhere[7].chain, Positions({0: 5}))
    assert (log.version, log.span, log.nbytes) == (8, (8, 7), 0)
    log.append(elsewhere[8])
    assert log.span == (8, 8)
    assert log.positions.of(0) == 5 + (0 in elsewhere[8].accepted)


def test_listeners_hear_of_every_update() -> None:
    log, heard = UpdateLog(), list[int]()

    def hear() -> None:
        heard.append(log.version)

    log.listen(hear)
    first, second, third = history(3)
    log.append(first)
    log.append(second)
    log.unlisten(hear)
    log.append(third)
    assert heard == [1, 2]


def test_impossible_bounds_are_refused() -> None:
    with pytest.raises(ParameterError, match="most_versions=0"):
        UpdateLog(most_versions=0)
    with pytest.raises(ParameterError, match="most_bytes=-1"):
        UpdateLog(most_bytes=-1)
