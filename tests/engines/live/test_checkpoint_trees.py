"""A nested state in a file: it comes back as it was, to the bit."""

from __future__ import annotations

import json
import struct
import tempfile
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file
from torch import Tensor, nn

from tailcut.engines.live.checkpoints.files import read, write
from tailcut.engines.live.checkpoints.trees import CheckpointError, flat_of, state_of


def _is_of_bytes(dtype: torch.dtype) -> bool:
    """Return whether any bytes can be viewed as numbers of this type."""
    try:
        return torch.zeros(16, dtype=torch.uint8).view(dtype).dtype == dtype
    except (RuntimeError, TypeError):
        return False


EVERY_TYPE = {each for each in vars(torch).values() if isinstance(each, torch.dtype)}
TYPES = sorted(
    (each for each in EVERY_TYPE if "qu" not in str(each) and "qi" not in str(each) and _is_of_bytes(each)),
    key=str,
)


def bits(tensor: Tensor) -> bytes:
    flat = tensor.detach().contiguous().reshape(-1)
    return bytes(flat.view(torch.uint8).numpy().tobytes()) if flat.numel() else b""


def same(one: Any, other: Any) -> bool:
    """Also in types, in the order of keys, and in which of the many NaN it is."""
    if isinstance(one, Tensor):
        alike = isinstance(other, Tensor) and (one.dtype, one.shape) == (other.dtype, other.shape)
        return alike and bits(one) == bits(other)
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return same(list(one), list(other)) and same(list(one.values()), list(other.values()))
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return struct.pack("d", one) == struct.pack("d", other)
    return bool(one == other)


def kept(state: Any) -> Any:
    """Written, and read again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file")
        write(path, flat_of(state))
        return read(path)


def made_of(content: bytes, dtype: torch.dtype, shape: tuple[int, ...]) -> Tensor:
    """A tensor of these bytes, as many as it takes, over and over."""
    size = dtype.itemsize * int(np.prod(shape))
    numbers = torch.tensor([*(content * size)[:size]], dtype=torch.uint8)
    if dtype == torch.bool:
        numbers &= 1
    return numbers.view(dtype).reshape(shape)


shapes = st.sampled_from([(), (0,), (2, 0), (1,), (3,), (2, 3), (1, 2, 2)])
tensors = st.builds(made_of, st.binary(min_size=1, max_size=40), st.sampled_from(TYPES), shapes)
whole = st.integers(-(2**80), 2**80)
texts = st.text(st.characters(), max_size=5)
plain = st.none() | st.booleans() | whole | st.floats() | texts | st.binary(max_size=5)
trees = st.recursive(
    plain | tensors,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.just(())
        | st.dictionaries(texts | whole | st.tuples(whole, texts), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(tree=trees)
@settings(max_examples=100, deadline=None)
def test_states_come_back_as_they_were(tree: Any) -> None:
    assert same(kept(tree), tree)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_tensors_of_every_type(dtype: torch.dtype) -> None:
    for shape in ((), (0,), (2, 0), (3, 2)):
        tensor = made_of(bytes(range(1, 200)), dtype, shape)
        assert same(kept([tensor]), [tensor])


def test_every_type_is_most_types() -> None:
    usual = {
        torch.float32,
        torch.float64,
        torch.float16,
        torch.bfloat16,
        torch.int64,
        torch.bool,
        torch.uint16,
    }
    assert usual | {torch.complex64, torch.complex128, torch.float8_e4m3fn, torch.float8_e5m2} <= set(TYPES)


def test_numbers_that_json_has_not() -> None:
    strange = struct.unpack(">d", bytes.fromhex("fff8000000000123"))[0]
    state = [float("inf"), -float("inf"), float("nan"), strange, -0.0, 5e-324, 0.1 + 0.2, 1.0, 1, 2**70, True]
    assert same(kept(state), state)


def test_names_that_could_be_mixed_up() -> None:
    state = {
        "a": {"b": torch.zeros(1)},
        "a/b": torch.ones(1),
        1: torch.ones(2),
        "1": torch.ones(3),
        "": {"": torch.ones(4)},
        "__metadata__": torch.ones(5),
        "\ud800": torch.ones(6),
        'x","digest":"': torch.ones(7),
        '"digest":"' + "0" * 64 + '"': '"digest":"' + "1" * 64 + '"',
    }
    assert same(kept(state), state)
    assert same(kept({"__metadata__": torch.ones(1)}), {"__metadata__": torch.ones(1)})
    assert same(kept(torch.arange(3)), torch.arange(3))


def test_views_and_transposed_tensors() -> None:
    numbers = torch.arange(12.0).reshape(3, 4)
    complex_ = torch.tensor([1 + 2j, 3 - 4j])
    state = [
        numbers.T,
        numbers[:, 1],
        numbers[::2],
        numbers.expand(2, 3, 4),
        complex_.conj(),
        complex_.conj().imag,
    ]
    assert all(torch.equal(a, b) for a, b in zip(kept(state), state, strict=True))
    image = torch.arange(2.0 * 3 * 4 * 4).reshape(2, 3, 4, 4).to(memory_format=torch.channels_last)
    assert torch.equal(kept(image), image)


def test_shared_numbers_come_back_twice() -> None:
    numbers = torch.arange(3.0)
    one, other = kept([numbers, numbers])
    assert torch.equal(one, other)


def test_kinds_of_dictionaries_and_numbers() -> None:
    assert same(kept(Counter({3: 2, 5: 1})), Counter({3: 2, 5: 1}))
    assert same(kept(OrderedDict(b=1, a=2)), {"b": 1, "a": 2})
    assert same(kept([np.float64(0.1), np.int32(3), np.bool_(True)]), [0.1, 3, True])
    assert same(kept(torch.Size([2, 3])), (2, 3))


def test_a_state_is_of_the_moment_it_was_taken_in() -> None:
    numbers, rates = torch.zeros(3), [0.1]
    strange = torch.zeros(2, dtype=torch.complex128)
    flat = flat_of({"numbers": numbers, "rates": rates, "strange": strange})
    numbers.add_(1.0)
    strange.add_(1.0)
    rates.append(0.2)
    found = state_of(flat.tree, flat.tensors)
    assert found["numbers"].tolist() == [0.0, 0.0, 0.0]
    assert found["strange"].tolist() == [0.0, 0.0]
    assert found["rates"] == [0.1]


def test_any_safetensors_reader_finds_the_net(tmp_path: Path) -> None:
    net = nn.Linear(2, 3)
    write(tmp_path / "file", flat_of({"net": net.state_dict()}))
    found = load_file(tmp_path / "file")
    assert torch.equal(found["net/weight"], net.weight)
    assert list(found) == ["net/bias", "net/weight"] or set(found) == {"net/bias", "net/weight"}


class _Odd:
    pass


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (
            {"net": nn.Linear(1, 1)},
            r"A state with a Linear in it, at net, cannot be kept in a checkpoint: only",
        ),
        ({"a": [1, {2: _Odd()}]}, r"A state with a _Odd in it, at a/1/2, cannot"),
        ({"a": len}, r"with a builtin_function_or_method in it, at a,"),
        ({"a": {1, 2}}, r"with a set in it"),
        ({"a": np.longdouble(1)}, r"with a longdouble in it"),
        (
            {"a": torch.zeros(3).to_sparse()},
            r"A sparse tensor, at a, cannot be kept in a checkpoint. Give an ordinary",
        ),
        ({"a": torch.zeros(3, device="meta")}, r"A meta tensor, at a,"),
    ],
)
def test_what_cannot_be_kept_is_refused(state: Any, sentence: str) -> None:
    with pytest.raises(CheckpointError, match=sentence):
        flat_of(state)


@pytest.mark.parametrize(
    "tree",
    [
        "",
        "{}",
        "[]",
        '["set",[1]]',
        '["tensor","a"]',
        '["tensor","b","float32",[2]]',
        '["tensor","a","float32",[3]]',
        '["tensor","a","float32",[1099511627776]]',
        '["tensor","a","float64",[1]]',
        '["tensor","a","complex64",[1]]',
        '["tensor","a","Tensor",[2]]',
        '["list",[["tensor","a","float32",[2]],["tensor","a","float32",[2]]]]',
        '["dict",[[["list",[]],1]]]',
        '["dict",[[1]]]',
        '["bytes","xyz"]',
        '["float","00"]',
        "[" * 100_000 + "]" * 100_000,
        '["list",[' * 50_000 + "]]" * 50_000,
    ],
)
def test_a_strange_tree_is_refused_and_takes_no_memory(tree: str) -> None:
    with pytest.raises((ValueError, KeyError, TypeError, RuntimeError, struct.error)):
        state_of(tree, {"a": torch.zeros(2)})


def test_the_text_is_plain_json() -> None:
    flat = flat_of({"lr": float("inf"), "chain": b"\x01\xff", "t": (1, 2.5), "é": None})

    def refuse(word: str) -> None:
        raise AssertionError(word)

    assert flat.tree.isascii()
    assert json.loads(flat.tree, parse_constant=refuse)[0] == "dict"
