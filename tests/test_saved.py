"""States in files: what comes back, and what is refused with a sentence."""

from __future__ import annotations

import json
import pickle
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from typing_extensions import TypeAliasType

from tailcut.declared import Declared
from tailcut.errors import InputError
from tailcut.events import Applied, Arrived, Joined
from tailcut.forecast import NoForecast
from tailcut.policies import bandit, empirical, stopping
from tailcut.policy import Policy, PolicyState
from tailcut.round import Rounds
from tailcut.rules import Opening, Rule, WaitAll
from tailcut.saved import load_state, save_state
from tailcut.tensor_file import write_tensors
from tailcut.types import Decision, FloatArray, Progress, RunTimes, Wait


@dataclass(frozen=True, slots=True, eq=False)
class Odds:
    """Some of everything."""

    table: FloatArray
    mask: np.ndarray[Any, np.dtype[np.bool_]] | None
    count: int
    rate: float
    sure: bool
    name: str
    pair: tuple[int, float]
    many: tuple[FloatArray, ...] = ()


@dataclass(frozen=True)
class Remembers(Rule[Odds, None]):
    """A rule of one's own whose memory is made of everything."""

    def start(self) -> Odds:
        return Odds(np.zeros(0), None, 0, 0.0, False, "", (0, 0.0))

    def plan(self, memory: Odds, opening: Opening) -> None:
        pass

    def decide(self, plan: None, progress: Progress) -> Decision:
        return Wait()


MINE = Policy(NoForecast(), Remembers())


def back(path: Path, memory: Odds) -> Odds:
    save_state(path, PolicyState(None, memory))
    found: Odds = load_state(path, MINE).memory
    return found


def test_everything_comes_back_as_it_was(tmp_path: Path) -> None:
    table = np.array([[1.5, np.nan], [-np.inf, 5e-324], [0.1, -0.0]])
    mask = np.array([True, False])
    memory = Odds(table, mask, -(2**70), 0.1, True, "ρ\n", (3, np.inf), (np.zeros((0, 4)), np.ones(())))
    found = back(tmp_path / "state", memory)
    assert found.table.tobytes() == table.tobytes()
    assert found.table.shape == (3, 2)
    assert found.mask is not None
    assert (found.mask.dtype, found.mask.tolist()) == (np.bool_, [True, False])
    assert (found.count, found.rate, found.sure, found.name, found.pair) == (
        -(2**70),
        0.1,
        True,
        "ρ\n",
        (3, np.inf),
    )
    assert [each.shape for each in found.many] == [(0, 4), ()]
    assert back(tmp_path / "state", Odds(table, None, 0, np.nan, False, "", (0, -0.0))).mask is None


def test_arrays_declared_by_a_type_statement() -> None:
    """Newer versions of numpy declare their arrays in this way."""
    number = TypeVar("number", bound=np.generic)
    vector = TypeAliasType("vector", np.ndarray[Any, np.dtype[number]], type_params=(number,))
    declared = Declared.of(vector[np.int64] | None, {})
    assert declared.holds(np.arange(3))
    assert declared.holds(None)
    assert not declared.holds(np.arange(3.0))


def test_arrays_keep_their_order_in_memory(tmp_path: Path) -> None:
    table = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    found = back(tmp_path / "state", Odds(table, None, 0, 0.0, False, "", (0, 0.0)))
    assert np.array_equal(found.table, table)
    assert found.table.flags.f_contiguous


def test_numbers_of_numpy_stay_numbers_of_numpy(tmp_path: Path) -> None:
    rate: Any = np.float64(0.1) * 3
    found = back(tmp_path / "state", Odds(np.zeros(1), None, 0, rate, False, "", (0, 0.0)))
    assert (type(found.rate), found.rate) == (np.float64, rate)


@pytest.mark.parametrize(
    "odd", [{"a": 1}, [1.0], {1}, b"bytes", 1j, np.array(["text"]), np.array([None]), object()]
)
def test_what_a_file_cannot_hold_is_a_mistake_of_the_policy(tmp_path: Path, odd: Any) -> None:
    with pytest.raises(TypeError, match=r"memory\.pair\.1 is an? .* cannot hold"):
        back(tmp_path / "state", Odds(np.zeros(1), None, 0, 0.0, False, "", (0, odd)))
    assert not (tmp_path / "state").exists()


def told(path: Path) -> tuple[dict[str, Any], dict[str, str], Any]:
    """Arrays, words and structure of a saved bandit."""
    save_state(path, bandit().start())
    arrays = load_file(path)
    raw = path.read_bytes()
    words = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])["__metadata__"]
    return arrays, words, json.loads(words["structure"])


def refused(path: Path, sentence: str, policy: Policy | None = None) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        load_state(path, policy or bandit())
    assert str(path) in str(caught.value)
    assert str(caught.value).endswith("save the state of a run of this policy again.")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    refused(tmp_path / "none", "cannot be read: No such file")
    refused(tmp_path, "cannot be read: it is a folder")
    refused(tmp_path / "a\0b", "cannot be read: embedded null byte")


@pytest.mark.parametrize("keep", [0, 3, 7, 8, 9, 40, 400])
def test_a_file_cut_off_anywhere(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "state"
    save_state(path, bandit().start())
    path.write_bytes(path.read_bytes()[:keep])
    refused(path, "no safetensors file|cut off|damaged")


def test_a_file_without_its_last_bytes(tmp_path: Path) -> None:
    path = tmp_path / "state"
    machine = Rounds(bandit())
    for event in (Joined(0.0, 0), Applied(0.0, 0), Arrived(1.0, 0, 0, 1.0)):
        machine.handle(event)
    save_state(path, machine.state)
    whole = path.read_bytes()
    for fewer in (1, 8, 24):
        path.write_bytes(whole[:-fewer])
        refused(path, "damaged or cut off")
    path.write_bytes(whole + b"more")
    refused(path, "damaged or cut off")


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle_in_disguise(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "state.safetensors"
    path.write_bytes(pickle.dumps({"state": 1}, protocol=protocol))
    refused(path, "is a pickle, which could run anything")
    path.write_bytes(b"PK\x03\x04" + bytes(100))
    refused(path, "is a pickle")


@pytest.mark.parametrize(
    "rubbish", [b"hello, world, this is text", bytes(64), b"\xff" * 64, b"\x08" + bytes(7) + b"{]}     "]
)
def test_other_files(tmp_path: Path, rubbish: bytes) -> None:
    path = tmp_path / "state"
    path.write_bytes(rubbish)
    refused(path, "no safetensors file|cut off|damaged header")


def test_other_arrays_and_other_versions(tmp_path: Path) -> None:
    path = tmp_path / "state"
    save_file({"weights": np.zeros(3)}, path)
    refused(path, "holds no tailcut-state, but 'other arrays'")
    arrays, words, _ = told(path)
    save_file(arrays, path, {**words, "format": "tailcut-model"})
    refused(path, "holds no tailcut-state, but 'tailcut-model'")
    save_file(arrays, path, {**words, "version": "7"})
    refused(path, "is of version '7' of this format, but this program reads version '1'")


@pytest.mark.parametrize("length", [0x280, 0x380, 0x480, 0x580, 0x10280])
def test_a_header_as_long_as_a_pickle_begins(tmp_path: Path, length: int) -> None:
    path = tmp_path / "state"
    plain = Policy(NoForecast(), WaitAll())

    def written(letters: int) -> int:
        """The length of the header, which is padded to a multiple of eight."""
        words = {
            "format": "tailcut-state",
            "version": "1",
            "structure": "[null, null]",
            "more": "a" * letters,
        }
        write_tensors(path, {}, words)
        return int.from_bytes(path.read_bytes()[:8], "little")

    assert written(length - written(0)) == length
    assert load_state(path, plain).memory is None


def test_files_of_an_older_form_have_no_checksum_and_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"
    arrays, words, _ = told(path)
    del words["digest"]
    save_file(arrays, path, words)
    refused(path, "has no checksum: it is damaged, or of an older form")


def test_a_wrong_bit_in_every_byte(tmp_path: Path) -> None:
    path = tmp_path / "state"
    save_state(path, bandit().start())
    whole, draws = path.read_bytes(), random.Random(0)
    for place in range(len(whole)):
        wrong = bytearray(whole)
        wrong[place] ^= 1 << draws.randrange(8)
        path.write_bytes(wrong)
        refused(path, "no safetensors file|cut off|damaged|holds no|of version|no checksum")


def test_the_state_of_another_policy(tmp_path: Path) -> None:
    path = tmp_path / "state"
    save_state(path, bandit().start())
    refused(path, "memory is a BanditMemory, but must be StoppingMemory|memory is a BanditMemory", stopping())
    save_state(path, PolicyState((), None))
    refused(path, "belief is a tuple of 0, but must be NoneType")
    seen = RunTimes(np.arange(2), np.ones(2), np.ones(2, np.bool_), np.zeros(2, np.int64))
    save_state(path, PolicyState((seen,), None))
    assert len(load_state(path, empirical()).belief) == 1


MANGLED = {
    "nothing": "",
    "no JSON": "{",
    "no pair": "[1]",
    "a deep one": "[" * 100_000,
    "another type": [None, {"type": "RunTimes", "fields": {}}],
    "a type to import": [None, {"type": "os.system", "fields": {}}],
    "a field too few": [None, {"type": "BanditMemory", "fields": {"n": 0}}],
    "a missing array": [
        None,
        {
            "type": "BanditMemory",
            "fields": {key: {"array": "x"} for key in ("pulls", "values", "seconds")} | {"n": 0},
        },
    ],
    "a word for a number": "n",
    "a truth for a number": True,
    "a float for a count": {"float": "0x1p3"},
    "no float": {"float": "x"},
    "nonsense": {"eval": "1"},
    "too much": {"float": "0x1p3", "array": "pulls"},
    "a list": [1],
}


@pytest.mark.parametrize("mangled", MANGLED.values(), ids=MANGLED.keys())
def test_a_structure_that_was_tampered_with(tmp_path: Path, mangled: Any) -> None:
    path = tmp_path / "state"
    arrays, words, structure = told(path)
    if isinstance(mangled, list) and len(mangled) == 2:
        words["structure"] = json.dumps(mangled)
    elif isinstance(mangled, str) and mangled != "n":
        words["structure"] = mangled
    else:
        structure[1]["fields"]["n"] = mangled
        words["structure"] = json.dumps(structure)
    write_tensors(path, arrays, words)
    refused(path, "is damaged: |holds the state of another policy: ")


def test_an_array_of_another_kind(tmp_path: Path) -> None:
    path = tmp_path / "state"
    arrays, words, _ = told(path)
    write_tensors(path, {name: array.astype(np.int32) for name, array in arrays.items()}, words)
    refused(path, r"memory\.pulls is an array of int32, but must be ndarray")


def test_a_place_where_nothing_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be written: No such file or directory\. Give a path"):
        save_state(tmp_path / "none" / "state", bandit().start())
    with pytest.raises(InputError, match=r"cannot be written: .*null byte"):
        save_state(tmp_path / "a\0b", bandit().start())


def test_saving_again_replaces_the_file(tmp_path: Path) -> None:
    path = tmp_path / "state"
    save_state(path, PolicyState(None, None))
    save_state(path, bandit().start())
    assert load_state(path, bandit()).memory.n == 0
    assert [each.name for each in tmp_path.iterdir()] == ["state"]
