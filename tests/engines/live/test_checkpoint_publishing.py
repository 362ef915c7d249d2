"""Staging and publishing: nothing is found before it is confirmed, and what is found is whole."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tailcut.engines.live import points
from tailcut.engines.live.checkpoints import Checkpoints, newest, saving
from tailcut.errors import ParameterError
from waiting import limit

PATIENCE = limit(60.0)
Say = Callable[[str], None]


@pytest.fixture(autouse=True)
def _nobody_watches() -> Iterator[None]:
    yield
    points.watch(None)


@pytest.fixture
def quiet() -> Iterator[Say]:
    """A `say` that fails the test at its end if it got a line: the writer's thread cannot raise here."""
    said: list[str] = []
    yield said.append
    assert said == []


class Points:
    """Points that were passed, and a gate that the writer waits at."""

    def __init__(self, look: Callable[[str, int], None] = lambda point, version: None) -> None:
        self.passed: list[tuple[str, int]] = []
        self.open = threading.Event()
        self.open.set()
        self._changed, self._look = threading.Condition(), look
        points.watch(self._at)

    def _at(self, point: str, version: int, chain: bytes, accepted: tuple[int, ...]) -> None:
        self._look(point, version)
        with self._changed:
            self.passed.append((point, version))
            self._changed.notify_all()
        assert self.open.wait(PATIENCE)

    def wait_for(self, point: str, version: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: (point, version) in self.passed, PATIENCE), (point, version)


def there(folder: Path) -> list[int]:
    return sorted(int(path.name[1:9]) for path in folder.glob("v*.safetensors"))


def state_of(version: int) -> dict[str, Any]:
    return {"version": version, "net": torch.full((50,), float(version))}


def test_nothing_is_found_before_it_is_confirmed(tmp_path: Path) -> None:
    passed, said = Points(), list[str]()
    checkpoints = Checkpoints(tmp_path, every=10, keep=3, say=said.append)
    checkpoints.stage(10, state_of(10), {"a": 1})
    passed.wait_for("staged", 10)
    assert newest(tmp_path, said.append) is None
    checkpoints.confirmed(9)
    checkpoints.confirmed(10)
    passed.wait_for("published", 10)
    found = newest(tmp_path, said.append)
    assert found is not None
    assert (found.version, found.extra, found.path) == (10, {"a": 1}, tmp_path / "v00000010.safetensors")
    assert torch.equal(found.state["net"], state_of(10)["net"])
    assert passed.passed == [("staging", 10), ("staged", 10), ("published", 10)]
    checkpoints.close()
    assert [path.name for path in tmp_path.iterdir()] == ["v00000010.safetensors"]
    assert said == []


def test_only_what_everybody_has_come_to_is_published(tmp_path: Path, quiet: Say) -> None:
    checkpoints = Checkpoints(tmp_path, every=10, keep=5, say=quiet)
    passed = Points()
    for version in (10, 20, 30):
        checkpoints.stage(version, state_of(version), {})
        passed.wait_for("staged", version)
    checkpoints.confirmed(25)
    passed.wait_for("published", 20)
    assert there(tmp_path) == [10, 20]
    checkpoints.close()
    assert there(tmp_path) == [10, 20]
    assert list(tmp_path.glob(".*")) == []


def test_publishing_is_a_rename(tmp_path: Path, quiet: Say) -> None:
    """A process that dies at any moment leaves the old file or the new one, never a part."""
    passed = Points()
    checkpoints = Checkpoints(tmp_path, every=10, keep=5, say=quiet)
    checkpoints.stage(10, state_of(10), {})
    passed.wait_for("staged", 10)
    (draft,) = tmp_path.glob(".writing-*/v00000010.safetensors")
    before = draft.stat()
    checkpoints.confirmed(10)
    checkpoints.close()
    after = (tmp_path / draft.name).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_confirmed_while_it_is_being_written(tmp_path: Path, quiet: Say) -> None:
    passed = Points()
    passed.open.clear()
    checkpoints = Checkpoints(tmp_path, every=10, keep=5, say=quiet)
    checkpoints.stage(10, state_of(10), {})
    passed.wait_for("staging", 10)
    checkpoints.confirmed(10)
    assert there(tmp_path) == []
    passed.open.set()
    checkpoints.close()
    assert there(tmp_path) == [10]


def test_a_confirmation_is_of_what_was_staged_before_it(tmp_path: Path, quiet: Say) -> None:
    """Versions that are made again after a fallback must be confirmed again."""
    checkpoints = Checkpoints(tmp_path, every=10, keep=5, say=quiet)
    checkpoints.confirmed(100)
    checkpoints.stage(10, state_of(10), {})
    checkpoints.close()
    assert there(tmp_path) == []


def test_a_state_is_of_the_moment_it_was_staged_in(tmp_path: Path, quiet: Say) -> None:
    passed = Points()
    passed.open.clear()
    checkpoints = Checkpoints(tmp_path, every=10, keep=5, say=quiet)
    state, extra = {"net": torch.zeros(50), "rates": [0.1]}, {"at": [1]}
    checkpoints.stage(10, state, extra)
    state["net"].add_(1.0)  # type: ignore[attr-defined]
    state["rates"].append(0.2)  # type: ignore[attr-defined]
    extra["at"].append(2)
    passed.open.set()
    checkpoints.confirmed(10)
    checkpoints.close()
    found = newest(tmp_path, pytest.fail)
    assert found is not None
    assert float(found.state["net"].sum()) == 0.0
    assert (found.state["rates"], found.extra) == ([0.1], {"at": [1]})


def test_the_newest_few_are_kept_and_older_ones_go_last(tmp_path: Path, quiet: Say) -> None:
    at_publication: list[list[int]] = []
    passed = Points(
        lambda point, version: at_publication.append(there(tmp_path)) if point == "published" else None
    )
    checkpoints = Checkpoints(tmp_path, every=1, keep=2, say=quiet)
    for version in (1, 2, 3, 4):
        checkpoints.stage(version, state_of(version), {})
        checkpoints.confirmed(version)
        passed.wait_for("published", version)
    checkpoints.close()
    assert at_publication == [[1], [1, 2], [1, 2, 3], [2, 3, 4]]
    assert there(tmp_path) == [3, 4]


def test_a_run_that_went_back_does_not_lose_its_own_to_later_ones(tmp_path: Path, quiet: Say) -> None:
    (tmp_path / "v00000090.safetensors").write_bytes(b"damaged")
    said: list[str] = []
    checkpoints = Checkpoints(tmp_path, every=1, keep=1, say=said.append)
    checkpoints.stage(80, state_of(80), {})
    checkpoints.confirmed(80)
    checkpoints.close()
    found = newest(tmp_path, said.append)
    assert found is not None
    assert (found.version, there(tmp_path), len(said)) == (80, [80, 90], 1)
    checkpoints = Checkpoints(tmp_path, every=1, keep=1, say=quiet)
    checkpoints.stage(90, state_of(90), {})
    checkpoints.confirmed(90)
    checkpoints.close()
    found = newest(tmp_path, pytest.fail)
    assert found is not None
    assert (found.version, there(tmp_path)) == (90, [90])


def test_what_was_forgotten_is_never_published(tmp_path: Path, quiet: Say) -> None:
    checkpoints = Checkpoints(tmp_path, every=10, keep=5, say=quiet)
    passed = Points()
    checkpoints.stage(10, state_of(10), {})
    checkpoints.confirmed(10)
    passed.wait_for("published", 10)
    checkpoints.stage(20, state_of(20), {})
    checkpoints.forget()
    checkpoints.stage(30, state_of(30), {})
    checkpoints.confirmed(30)
    checkpoints.close()
    assert there(tmp_path) == [10, 30]
    assert ("staged", 20) in passed.passed


def test_of_two_with_the_same_version_the_later_is_published(tmp_path: Path, quiet: Say) -> None:
    checkpoints = Checkpoints(tmp_path, every=10, keep=5, say=quiet)
    checkpoints.stage(10, state_of(1), {})
    checkpoints.stage(10, state_of(2), {})
    checkpoints.confirmed(10)
    checkpoints.close()
    found = newest(tmp_path, pytest.fail)
    assert found is not None
    assert float(found.state["net"][0]) == 2.0


def test_a_slow_disk_costs_checkpoints_not_memory(tmp_path: Path) -> None:
    passed, said = Points(), list[str]()
    passed.open.clear()
    checkpoints = Checkpoints(tmp_path, every=10, keep=5, say=said.append)
    for version in (10, 20, 30, 40):
        checkpoints.stage(version, state_of(version), {})
    assert said == [
        "The checkpoint of version 30 is left out: 2 before it are still being written, so this disk is too slow for "
        "one every 10 updates."
    ]
    passed.open.set()
    passed.wait_for("staged", 20)
    checkpoints.confirmed(40)
    passed.wait_for("published", 20)
    checkpoints.stage(50, state_of(50), {})
    checkpoints.confirmed(50)
    checkpoints.close()
    assert there(tmp_path) == [10, 20, 50]
    assert len(said) == 1


def test_workers_that_stay_behind_cost_the_later_checkpoints_first(tmp_path: Path) -> None:
    passed, said = Points(), list[str]()
    checkpoints = Checkpoints(tmp_path, every=10, keep=9, say=said.append)
    for version in range(10, 60, 10):
        checkpoints.stage(version, state_of(version), {})
        if version < 50:
            passed.wait_for("staged", version)
    assert said == ["The checkpoint of version 50 is left out: 4 before it wait for workers that are behind."]
    checkpoints.confirmed(60)
    checkpoints.close()
    assert there(tmp_path) == [10, 20, 30, 40]


def test_a_state_that_cannot_be_kept_is_told_of_and_the_next_is_tried(tmp_path: Path) -> None:
    said: list[str] = []
    checkpoints = Checkpoints(tmp_path, every=10, keep=5, say=said.append)
    checkpoints.stage(10, {"schedule": len}, {})
    endless: list[Any] = []
    endless.append(endless)
    checkpoints.stage(20, {"schedule": endless}, {})
    checkpoints.stage(30, state_of(30), {})
    checkpoints.confirmed(30)
    checkpoints.close()
    assert said[0].startswith(
        "There is no checkpoint of version 10: A state with a builtin_function_or_method in it"
    )
    assert said[1].startswith("There is no checkpoint of version 20: ")
    assert (there(tmp_path), len(said)) == ([30], 2)


def test_when_it_is_time(tmp_path: Path, quiet: Say) -> None:
    checkpoints = Checkpoints(tmp_path, every=3, keep=1, say=quiet)
    assert [version for version in range(10) if checkpoints.wants(version)] == [3, 6, 9]
    checkpoints.close()
    checkpoints.close()


@pytest.mark.parametrize(
    ("every", "keep", "sentence"),
    [(0, 1, "at least 1 update apart, but got 0"), (1, 0, "At least 1 checkpoint must be kept, but got 0")],
)
def test_settings_that_cannot_be(every: int, keep: int, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=sentence):
        Checkpoints(tmp_path / "new", every, keep, print)
    assert not (tmp_path / "new").exists()


deeds = st.one_of(
    st.tuples(st.just("stage"), st.integers(1, 6)),
    st.tuples(st.just("confirmed"), st.integers(0, 7)),
    st.tuples(st.just("forget"), st.just(0)),
)


@given(script=st.lists(deeds, max_size=14), keep=st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_staging_and_confirming_in_any_order(
    script: list[tuple[str, int]], keep: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The published contents are those of a model without a thread."""
    folder = tmp_path_factory.mktemp("script")
    said: list[str] = []
    waiting: dict[int, int] = {}
    expected: dict[int, int] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(saving, "MOST_COPIES", 99)
        patch.setattr(saving, "MOST_UNCONFIRMED", 99)
        checkpoints = Checkpoints(folder, every=1, keep=keep, say=said.append)
        for content, (deed, version) in enumerate(script):
            if deed == "stage":
                checkpoints.stage(version, state_of(version), {"content": content})
                waiting[version] = content
            elif deed == "confirmed":
                checkpoints.confirmed(version)
                for each in sorted(each for each in waiting if each <= version):
                    expected[each] = waiting.pop(each)
                    for old in sorted(e for e in expected if e <= each)[:-keep]:
                        del expected[old]
            else:
                checkpoints.forget()
                waiting.clear()
        checkpoints.close()
    assert there(folder) == sorted(expected)
    found = newest(folder, pytest.fail)
    if expected:
        assert found is not None
        assert (found.version, found.extra) == (max(expected), {"content": expected[max(expected)]})
    assert list(folder.glob(".*")) == []
    assert said == []


def test_whoever_looks_while_another_publishes_finds_a_whole_one(tmp_path: Path, quiet: Say) -> None:
    last, versions = 40, list[int]()
    passed = Points()
    checkpoints = Checkpoints(tmp_path, every=1, keep=1, say=quiet)

    def look() -> None:
        while not versions or versions[-1] < last:
            found = newest(tmp_path, pytest.fail)
            if found is not None:
                assert torch.equal(found.state["net"], state_of(found.version)["net"])
                versions.append(found.version)

    looking = threading.Thread(target=look)
    looking.start()
    for version in range(1, last + 1):
        checkpoints.stage(version, state_of(version), {})
        checkpoints.confirmed(version)
        passed.wait_for("published", version)
    looking.join(PATIENCE)
    checkpoints.close()
    assert not looking.is_alive()
    assert versions == sorted(versions)


AT_EXIT = """
import atexit, sys, torch
from tailcut.engines.live.checkpoints import Checkpoints

kept = Checkpoints(sys.argv[1], every=1, keep=3, say=print)
kept.stage(1, {"net": torch.ones(2)}, {})


def leave():
    kept.stage(2, {"net": torch.ones(2)}, {})
    kept.confirmed(2)
    kept.close()


atexit.register(leave)
"""


def test_what_is_asked_for_while_python_ends_is_done_all_the_same(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", AT_EXIT, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=limit(100),
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert sorted(each.name for each in tmp_path.glob("v*")) == [
        "v00000001.safetensors",
        "v00000002.safetensors",
    ]
