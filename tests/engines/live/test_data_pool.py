from __future__ import annotations

import gc

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tailcut.engines.live.data.pool import SPARE, Pool
from tailcut.engines.live.data.scaling import gather, gather_together, spread, spread_together
from tailcut.engines.live.data.updates import START, Update


def places(pool: Pool, count: int) -> list[int]:
    held = [pool.take() for _ in range(count)]
    return [each.data_ptr() for each in held]


def test_memory_is_used_again_only_when_it_is_free() -> None:
    pool = Pool(1000, torch.float32)
    held = pool.take()
    place = held.data_ptr()
    other = pool.take()
    assert other.data_ptr() != place
    del held
    assert pool.take().data_ptr() == place
    assert (other.shape, other.dtype) == (torch.Size([1000]), torch.float32)


def test_bytes_on_their_way_keep_their_memory() -> None:
    """A message sent without a copy still reads the memory after the log has dropped the update."""
    pool = Pool(1000, torch.float32)
    update = Update(1, 1, 0, (0,), 1.0, 1, START, pool.take().fill_(3.0))
    place, raw = update.flat.data_ptr(), update.raw
    del update
    gc.collect()
    taken = pool.take().fill_(9.0)
    assert taken.data_ptr() != place
    assert raw.cast("f")[999] == 3.0
    raw.release()
    del raw
    assert pool.take().data_ptr() == place


def test_a_part_keeps_the_whole() -> None:
    pool = Pool(1000, torch.float32)
    part = pool.take()[10:20]
    part.fill_(4.0)
    pool.take().fill_(5.0)
    assert torch.equal(part, torch.full((10,), 4.0))


def test_few_spare_vectors_are_kept() -> None:
    pool = Pool(1000, torch.float64)
    first = set(places(pool, 10))
    assert len(first) == 10
    assert len(pool._spare) == SPARE


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@given(
    sizes=st.lists(st.integers(0, 40), min_size=1, max_size=6),
    factor=st.integers(1, 99),
    missing=st.sets(st.integers(0, 5)),
)
def test_both_ways_to_scale_give_the_same_bits(
    dtype: torch.dtype, sizes: list[int], factor: int, missing: set[int]
) -> None:
    """Both compute in the precision of the vector, whatever that of the tensors."""
    values = [
        None if place in missing else torch.linspace(-1, 1, size).to(dtype)
        for place, size in enumerate(sizes)
    ]
    alone, together = torch.full((2, sum(sizes)), torch.nan)
    gather(values, torch.split(alone, sizes), factor)
    gather_together(values, torch.split(together, sizes), together, factor)
    assert torch.equal(alone, together)
    for value, part in zip(values, torch.split(alone, sizes), strict=True):
        assert torch.equal(part, torch.zeros_like(part) if value is None else value.float() * factor)
    quotients = [part / factor for part in torch.split(alone, sizes)]
    one, other = ([None if value is None else torch.empty_like(value) for value in values] for _ in range(2))
    spread(torch.split(alone, sizes), one, factor)
    spread_together(torch.split(together, sizes), together, other, factor)
    for first, second, quotient in zip(one, other, quotients, strict=True):
        if first is not None and second is not None:
            assert torch.equal(first, quotient.to(dtype))
            assert torch.equal(second, first)
