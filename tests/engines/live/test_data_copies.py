"""A whole state as frames: it comes back as it was, or not at all."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from tailcut.engines.live.data.copies import CopyError, frames_of, state_of
from tailcut.engines.live.worker.replica import Replica

OPTIMISERS = [
    lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9, nesterov=True),
    lambda parameters: torch.optim.AdamW(parameters, lr=0.01, amsgrad=True),
    lambda parameters: torch.optim.Adagrad(parameters, lr=0.1),
    lambda parameters: torch.optim.RMSprop(parameters, lr=0.01, centered=True),
]


def replica(make: Any, seed: int) -> Replica:
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1).double().float())
    inner = make(net.parameters())
    return Replica(net, inner, torch.optim.lr_scheduler.StepLR(inner, 3))


def train(it: Replica, versions: range) -> None:
    for version in versions:
        it.optimiser.zero_grad()
        x = torch.randn(5, 3, generator=torch.Generator().manual_seed(version))
        it.module(x).square().mean().backward()
        it.apply(1.0)


@pytest.mark.parametrize("make", OPTIMISERS)
def test_a_copy_goes_on_as_the_original_does(make: Any) -> None:
    one, other = replica(make, 0), replica(make, 1)
    train(one, range(5))
    other.load(state_of(frames_of(one.state())))
    assert (other.version, other.digest()) == (5, one.digest())
    for it in (one, other):
        train(it, range(5, 12))
    assert one.digest() == other.digest()
    for ours, theirs in zip(
        one.module.state_dict().values(), other.module.state_dict().values(), strict=True
    ):
        assert torch.equal(ours, theirs)
    assert one.optimiser.param_groups[0]["lr"] == other.optimiser.param_groups[0]["lr"]


def test_frames_are_of_the_moment_they_were_made_in() -> None:
    numbers = torch.zeros(3)
    frames = frames_of([numbers])
    numbers.add_(1.0)
    assert state_of(frames)[0].tolist() == [0.0, 0.0, 0.0]


plain = (
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
)
trees = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3) | st.integers(0, 99), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(tree=trees)
@settings(max_examples=60, deadline=None)
def test_trees_come_back_as_they_were(tree: Any) -> None:
    assert state_of(frames_of(tree)) == tree


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool])
def test_tensors_keep_their_type_and_shape(dtype: torch.dtype) -> None:
    for shape in ((), (0,), (2, 0), (3, 2)):
        (found,) = state_of(frames_of([torch.ones(shape, dtype=dtype)]))
        assert (found.dtype, tuple(found.shape)) == (dtype, shape)
        assert torch.equal(found, torch.ones(shape, dtype=dtype))


def test_what_is_damaged_or_strange_is_refused() -> None:
    frames = [bytes(each) for each in frames_of({"a": torch.arange(3.0), "b": [1, 2]})]
    for place, frame in enumerate(frames):
        for at in range(len(frame)):
            wrong = bytes([*frame[:at], frame[at] ^ 1, *frame[at + 1 :]])
            with pytest.raises(CopyError):
                state_of([*frames[:place], wrong, *frames[place + 1 :]])
        with pytest.raises(CopyError):
            state_of([*frames[:place], frame[:-1], *frames[place + 1 :]])
    with pytest.raises(CopyError):
        state_of([b""])
    with pytest.raises(CopyError, match="A state with a Linear in it cannot be copied"):
        frames_of({"net": nn.Linear(1, 1)})
