"""The learnt state of a policy is kept twice: damage is reported, and the older copy is used."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file
from tests.engines.live.hub_scripts import Fleet

from tailcut.engines.live.controller.hub import Hub
from tailcut.engines.records.kept import keep_learnt, kept_learnt
from tailcut.engines.records.learnt import EVERY, Learnt
from tailcut.engines.records.standing import Standing
from tailcut.engines.servers.keeping import LEARNT, learnt_in
from tailcut.policies import empirical, stopping
from tailcut.policy import PolicyState
from tailcut.round import Rounds
from tailcut.table import Table
from tailcut.types import RoundRecord, RunTimes

POLICY = empirical()


def state(seconds: float) -> PolicyState:
    """A policy that has seen two workers take these seconds."""
    seen = RunTimes(np.arange(2), np.full(2, seconds), np.ones(2, np.bool_), np.zeros(2, np.int64))
    return PolicyState((seen,), None)


def seconds(found: PolicyState | None) -> float:
    assert found is not None
    return float(found.belief[0].seconds[0])


def filled(folder: Path, name: str = "") -> Path:
    """A folder in which states were kept three times; the file of the newest."""
    for each in (1.0, 2.0, 3.0):
        keep_learnt(folder / LEARNT, state(each), name)
    return folder / LEARNT


def passed_over(file: Path) -> str:
    """The sentence; it is checked that the one before is used, by the engine on servers as well."""
    said: list[str] = []
    assert seconds(kept_learnt(file, POLICY, said.append)) == 2.0
    assert seconds(learnt_in(file.parent, POLICY, said.append)) == 2.0
    sentence, again = said
    assert sentence == again
    assert sentence.startswith(f"What the policy had learnt is passed over. {file} ")
    assert sentence.endswith(".")
    return sentence


def test_the_newest_is_used_and_the_one_before_stays(tmp_path: Path) -> None:
    file = filled(tmp_path)
    assert seconds(kept_learnt(file, POLICY, pytest.fail)) == 3.0
    assert sorted(each.name for each in tmp_path.iterdir()) == ["policy-before.safetensors", LEARNT]


def test_cut_off_at_every_hundredth(tmp_path: Path) -> None:
    file = filled(tmp_path)
    whole = file.read_bytes()
    for cut in sorted({len(whole) * part // 100 for part in range(100)} | {*range(10), len(whole) - 1}):
        file.write_bytes(whole[:cut])
        passed_over(file)
    file.write_bytes(whole)
    assert seconds(kept_learnt(file, POLICY, pytest.fail)) == 3.0


def test_a_wrong_bit_in_every_byte(tmp_path: Path) -> None:
    file, draws = filled(tmp_path), random.Random(0)
    whole = file.read_bytes()
    for place in range(len(whole)):
        wrong = bytearray(whole)
        wrong[place] ^= 1 << draws.randrange(8)
        file.write_bytes(wrong)
        passed_over(file)


@given(seed=st.integers(0, 2**32), many=st.integers(1, 20))
@settings(max_examples=40, deadline=None)
def test_wrong_bits_anywhere(seed: int, many: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    file, draws = filled(tmp_path_factory.mktemp("bits")), random.Random(seed)
    wrong = bytearray(file.read_bytes())
    for place in draws.sample(range(len(wrong)), many):
        wrong[place] ^= 1 << draws.randrange(8)
    file.write_bytes(wrong)
    passed_over(file)


def test_a_file_of_the_older_form_is_passed_over(tmp_path: Path) -> None:
    file = filled(tmp_path)
    words = {"format": "tailcut-state", "version": "1", "structure": "[null, null]"}
    save_file(load_file(file), file, words)
    assert "has no checksum: it is damaged, or of an older form" in passed_over(file)


def test_broken_off_between_the_two_renames(tmp_path: Path) -> None:
    file = filled(tmp_path)
    file.rename(tmp_path / "policy-next.safetensors")
    assert seconds(kept_learnt(file, POLICY, pytest.fail)) == 2.0
    keep_learnt(file, state(4.0))
    assert seconds(kept_learnt(file, POLICY, pytest.fail)) == 4.0


def test_where_neither_is_whole_the_policy_begins_anew(tmp_path: Path) -> None:
    assert kept_learnt(tmp_path / LEARNT, POLICY, pytest.fail) is None, "nothing was kept"
    file = filled(tmp_path)
    file.write_bytes(b"")
    (tmp_path / "policy-before.safetensors").write_bytes(b"what is this?")
    said: list[str] = []
    assert kept_learnt(file, POLICY, said.append) is None
    assert [each.split(" ", 2)[1] for each in said] == ["the", "the", "policy"]
    assert said[-1] == "The policy begins anew."


def test_what_another_policy_has_learnt_is_not_taken_over(tmp_path: Path) -> None:
    said: list[str] = []
    file = filled(tmp_path, "empirical")
    assert kept_learnt(file, stopping(), said.append, "stopping") is None
    [sentence] = said
    assert f"{file} was saved by policy 'empirical', and this run has 'stopping'" in sentence
    assert "the training itself continues" in sentence
    assert "damaged" not in sentence
    assert seconds(kept_learnt(file, POLICY, pytest.fail, "empirical")) == 3.0


# -- the controller's side ------------------------------------------------------------------------------------------


def standing(learnt: PolicyState) -> Standing:
    return cast(Standing, SimpleNamespace(learnt=learnt))


def listener(file: Path, say: Any = pytest.fail) -> tuple[Learnt, Rounds]:
    rounds = Rounds(POLICY)
    return Learnt(file, POLICY, rounds, say), rounds


ANY: RoundRecord = cast(RoundRecord, None)


def test_a_controller_begins_with_what_the_one_before_has_learnt(tmp_path: Path) -> None:
    table = Table.dense(np.full((3, 2), 1.5))
    one, rounds = listener(tmp_path / LEARNT)
    hub = Hub(rounds, 2, records=one.round, settled=one.settled)
    Fleet(hub, table).run(3)
    one.look(hub, 5.0)
    one.give_up()
    _, later = listener(tmp_path / LEARNT)
    assert len(later.state.belief) == len(hub.learnt.belief) > 0
    assert later.state.belief[0].seconds.tolist() == hub.learnt.belief[0].seconds.tolist()


def test_it_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    plain = Path.replace
    monkeypatch.setattr("os.fsync", lambda handle: done.append("sync"))

    def replace(self: Path, target: Path) -> Path:
        done.append(Path(target).name)
        return plain(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    keep_learnt(tmp_path / LEARNT, state(1.0))
    done.clear()
    keep_learnt(tmp_path / LEARNT, state(2.0))
    assert done == ["sync", "policy-next.safetensors", "policy-before.safetensors", LEARNT, "sync"]


def test_what_has_not_changed_or_was_kept_just_before_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / LEARNT
    it, _ = listener(file)
    it.look(standing(state(1.0)), 0.0)
    it.round(ANY)
    it.look(standing(state(2.0)), EVERY / 2)
    it.end(standing(state(3.0)), EVERY / 2 + 0.1)
    assert seconds(kept_learnt(file, POLICY, pytest.fail)) == 3.0, "the last is kept, whenever it was"
    assert not (tmp_path / "policy-before.safetensors").exists()


def test_a_disk_that_takes_nothing_is_told_of_once_and_tried_again(tmp_path: Path) -> None:
    said: list[str] = []
    it, _ = listener(tmp_path / "no folder" / LEARNT, said.append)
    for now in (0.0, 2.0):
        it.round(ANY)
        it.look(standing(state(1.0)), now)
        # Wait for the write here: no other call does so before the end.
        assert it._write is not None
        it._write.result()
    [sentence] = said
    assert sentence.startswith("What the policy has learnt is not kept: ")
    (tmp_path / "no folder").mkdir()
    it.round(ANY)
    it.end(standing(state(2.0)), 4.0)
    assert seconds(kept_learnt(tmp_path / "no folder" / LEARNT, POLICY, pytest.fail)) == 2.0
