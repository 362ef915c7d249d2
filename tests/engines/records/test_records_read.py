"""Folders read back: whole, cut off anywhere, and damaged."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engines.records.recorded import asked, record

from tailcut.engines.records.asked import Taker, read_asked
from tailcut.engines.records.files import RunFolder
from tailcut.engines.records.lines import round_line, round_of, settled_line, settled_of
from tailcut.engines.records.read import Ending, hand_on, read_run
from tailcut.errors import InputError
from tailcut.events import Settle
from tailcut.json_lines import line_of, take_lines
from tailcut.table import Table
from tailcut.types import Fate, Measured, Roster, RoundRecord, RunTimes

SECONDS = st.floats(1e-6, 1e6)


def bits(value: Any) -> Any:
    """The same thing as text, so that equal means equal to the last bit."""
    if is_dataclass(value):
        return [type(value).__name__, *(bits(getattr(value, each.name)) for each in fields(value))]
    return repr(value.tolist()) if isinstance(value, np.ndarray) else repr(value)


@st.composite
def closed_rounds(draw: st.DrawFn) -> RoundRecord:
    ids = np.array(sorted(draw(st.sets(st.integers(0, 99), min_size=1, max_size=5))), dtype=np.int64)
    n = len(ids)

    def floats(unknown: float) -> Any:
        return np.array(draw(st.lists(SECONDS | st.just(unknown), min_size=n, max_size=n)))

    def ints(most: int) -> Any:
        return np.array(draw(st.lists(st.integers(0, most), min_size=n, max_size=n)), dtype=np.int64)

    seconds, nodes = floats(np.nan), ints(3)
    known = ~np.isnan(seconds)
    observed = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))[known]
    return RoundRecord(
        version=draw(st.integers(0, 10**9)),
        opened=draw(SECONDS),
        elapsed=draw(SECONDS),
        overhead=draw(SECONDS),
        roster=Roster(ids, nodes, floats(np.nan)),
        arrivals=floats(np.inf),
        accepted=ints(1),
        shares=floats(1.0),
        fates=ints(len(Fate) - 1),
        run_times=RunTimes(ids[known], seconds[known], observed, nodes[known]),
        staleness=ints(2),
        weights=tuple(draw(st.dictionaries(st.text(max_size=5), SECONDS, max_size=2)).items()),
        measured=draw(
            st.none() | st.builds(Measured, *[SECONDS, st.integers(0, 9), st.integers(0, 9)], *[SECONDS] * 4)
        ),
    )


def through_file(line: dict[str, Any], tmp: Path) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    take_lines([line_of(line)], lambda _, values: found.append(values), tmp, "")
    return found[0]


@given(closed_rounds())
@settings(max_examples=60)
def test_a_round_reads_back_to_the_last_bit(record: RoundRecord) -> None:
    values = through_file(round_line(record), Path("x"))
    assert values.pop("kind") == "round"
    assert bits(round_of(values)) == bits(record)


@pytest.mark.parametrize("run_time", [0.25, float("nan"), float("inf")])
def test_a_settled_gradient_reads_back(run_time: float) -> None:
    settle = Settle(3, 17, Fate.LATE, run_time)
    values = through_file(settled_line(settle), Path("x"))
    assert repr(settled_of(values)) == repr(settle)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    seconds = np.random.default_rng(1).uniform(0.8, 1.3, size=(4, 3))
    return record(tmp_path_factory.mktemp("runs") / "run", Table.dense(seconds), "backup:b=1", overhead=0.1)


def changed(folder: Path, tmp_path: Path, name: str, content: bytes | None) -> Path:
    """A copy with another file."""
    copy = tmp_path / "copy"
    copy.mkdir(exist_ok=True)
    for file in folder.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    (copy / name).unlink()
    if content is not None:
        (copy / name).write_bytes(content)
    return copy


def test_a_whole_run(folder: Path) -> None:
    run = read_run(folder)
    assert [one.version for one in run.rounds] == [0, 1, 2, 3]
    assert run.ending == Ending(4, None)
    assert (run.asked.policy, run.asked.workers, run.asked.late) == ("backup:b=1", 3, "finish")
    assert run.asked.takers == tuple(Taker(w, "here", 100 + w, -1) for w in range(3))


def test_wherever_it_was_cut_off_what_came_before_is_read(folder: Path, tmp_path: Path) -> None:
    whole = (folder / "rounds.jsonl").read_bytes()
    copy, lines = changed(folder, tmp_path, "rounds.jsonl", b""), read_run(folder).lines
    # The last line without its end is still whole.
    for end in range(0, len(whole) - 1, 23):
        (copy / "rounds.jsonl").write_bytes(whole[:end])
        run = read_run(copy)
        complete = whole[:end].count(b"\n")
        assert complete <= len(run.lines) <= complete + 1
        assert [bits(one) for one in run.lines] == [bits(one) for one in lines[: len(run.lines)]]
        assert run.ending is None


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda line: line[: len(line) // 2], "Invalid control character"),
        (lambda _: b"[1, 2]", "not an object"),
        (lambda _: b"\xff\x00", "Expecting value"),
        (lambda _: b'{"kind": "rund"}', "'rund'"),
        (lambda line: line.replace(b'"workers": [0, 1, 2]', b'"workers": [0, 1]'), "not all of 2 workers"),
        (lambda line: line.replace(b'"workers": [0, 1, 2]', b'"workers": [0, 2, 1]'), "do not increase"),
        (
            lambda line: line.replace(b'"workers": [0, 1, 2]', b'"workers": [0, 1, 999999999]'),
            "worker 999999999 is none of the run's 3 workers",
        ),
        (
            lambda _: b'{"kind": "settled", "version": 0, "worker": 3, "fate": "late", "seconds": 1.0}',
            "worker 3 is none of the run's 3 workers",
        ),
        (lambda line: line.replace(b'"elapsed": ', b'"elapsed": -'), "it lasted -"),
        (lambda line: line.replace(b'"fates": ["used"', b'"fates": ["eaten"'), "EATEN"),
        (lambda line: line.replace(b'"version": 0', b'"version": 3'), "comes after round 3"),
    ],
)
def test_a_damaged_line_is_named(folder: Path, tmp_path: Path, damage: Any, said: str) -> None:
    first, *rest = (folder / "rounds.jsonl").read_bytes().splitlines()
    assert damage(first) != first
    content = b"\n".join([damage(first), *rest]) + b"\n"
    copy = changed(folder, tmp_path, "rounds.jsonl", content)
    with pytest.raises(InputError, match=r"Line \d of .*rounds.jsonl is damaged .* Delete the line") as error:
        read_run(copy)
    assert said in str(error.value)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"format": 2}', b'{"format": 1, "takers": []}', b"\xff"]
)
def test_a_damaged_head_is_said(folder: Path, tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError, match=r"run.json is damaged"):
        read_run(changed(folder, tmp_path, "run.json", content))


def test_no_run_is_said(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no run that can be read"):
        read_run(tmp_path)
    with pytest.raises(InputError, match=r"rounds.jsonl cannot be read \(No such file"):
        read_run(changed(folder, tmp_path, "rounds.jsonl", None))


def test_what_was_asked_reads_back(tmp_path: Path) -> None:
    said = asked(2, total=7).with_takers((Taker(0, "a", 1, 0), Taker(1, "b", 2, 1)))
    RunFolder(tmp_path / "run").claim(said.as_json())
    assert read_asked(tmp_path / "run" / "run.json") == said
    assert json.loads(said.as_json())["policy"] == "wait-all"


def test_a_long_record_can_be_read_in_little_memory(tmp_path: Path) -> None:
    """A controller that takes the place of another reads all that was recorded before."""
    record(tmp_path, Table.dense(np.random.default_rng(0).uniform(0.5, 1.5, size=(400, 8))))
    seen: list[int] = []
    tracemalloc.start()
    try:
        hand_on(tmp_path, lambda line: seen.append(line.version))
        little = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        whole = read_run(tmp_path)
        much = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert seen == [one.version for one in whole.rounds] == list(range(400))
    assert little < 0.2 * much
