"""Collecting the runs of a folder: each file is read as a run or left out with a sentence."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.study.grid.study_journals import HEAD, points, trained, write, write_arm, write_study

from tailcut.errors import InputError
from tailcut.study.grid.collect import NAMED, collect, read_run


def written(folder: Path, **head: Any) -> Path:
    seen = points(50.0)
    return write(folder, replace(HEAD, **head), seen, trained(50.0, seen))


def change(path: Path, line: int, key: str, value: Any) -> None:
    """Put another value into one line of a journal."""
    lines = path.read_text().splitlines()
    told = json.loads(lines[line])
    told[key] = value
    lines[line] = json.dumps(told)
    path.write_text("\n".join(lines) + "\n")


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    run = read_run(written(tmp_path))
    assert run is not None
    assert run.head == HEAD
    assert run.end.ending == "reached"
    assert list(run.track.seconds) == [10.0, 20.0, 30.0, 40.0, 50.0]
    assert list(run.track.updates) == [10, 20, 30, 40, 50]
    assert run.track.figure == pytest.approx([0.192, 0.384, 0.576, 0.768, 0.96])
    assert run.track.loss[-1] == pytest.approx(0.5)
    assert math.isnan(run.track.noise[0])
    assert list(run.track.noise[1:]) == [20.0, 30.0, 40.0, 50.0]
    assert np.isnan(run.track.true_noise).all()
    assert run.final == {"loss": pytest.approx(0.5), "accuracy": pytest.approx(0.96)}


def test_values_that_are_not_finite_are_unknown(tmp_path: Path) -> None:
    seen = points(50.0, figures={"loss": math.nan, "accuracy": 0.1, "noise_scale": math.inf}, noise=math.inf)
    run = read_run(write(tmp_path, HEAD, seen, trained(50.0, seen, ending="diverged")))
    assert run is not None
    assert np.isnan(run.track.loss).all()
    assert np.isnan(run.track.noise).all()
    assert np.isnan(run.track.true_noise).all()


def test_a_run_without_a_look_has_an_empty_track(tmp_path: Path) -> None:
    run = read_run(write(tmp_path, HEAD, [], trained(3.0, [], ending="diverged")))
    assert run is not None
    assert len(run.track.seconds) == 0
    assert run.final == {}


def test_an_unfinished_run_is_left_out_with_a_note(tmp_path: Path) -> None:
    written(tmp_path)
    write(tmp_path, replace(HEAD, seed=1), points(50.0), None)
    found = collect(tmp_path)
    assert [run.head.seed for run in found.runs] == [0]
    assert found.notes == ("1 run is not finished and left out: runs/digits/demo8/bayes/1.jsonl.",)


def test_a_line_that_was_cut_off_makes_a_run_unfinished(tmp_path: Path) -> None:
    written(tmp_path)
    other = written(tmp_path, seed=1)
    other.write_text(other.read_text()[:-30])
    assert "1 run is not finished" in collect(tmp_path).notes[0]


def test_a_damaged_line_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    written(tmp_path)
    other = written(tmp_path, seed=1)
    lines = other.read_text().splitlines()
    lines[2] = lines[2].replace('"seconds"', "seconds")
    other.write_text("\n".join(lines))
    found = collect(tmp_path)
    assert len(found.runs) == 1
    (note,) = found.notes
    assert note.startswith(f"Line 3 of {other} is damaged")
    assert note.endswith("only that run is repeated.")


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        (0, "seed", "0"),
        (0, "workers", 0),
        (0, "workers", 5),
        (0, "arm", 3),
        (0, "value", "nan"),
        (0, "requeue", 1),
        (0, "figure", "gap"),
        (1, "seconds", "10"),
        (1, "seconds", -1.0),
        (1, "seconds", True),
        (2, "updates", 1),
        (2, "figures", [1]),
        (2, "figures", {"accuracy": "good"}),
        (3, "cutoff", None),
        (3, "cutoff", -1.0),
        (3, "gradients", -3.0),
        (3, "idle", 7.0),
        (3, "staleness", -1e9),
        (3, "noise", []),
        (3, "seconds", "inf"),
        (6, "ending", "won"),
        (6, "ending", "not reached"),
        (6, "seconds_to_target", 0.0),
        (6, "seconds_to_target", "inf"),
        (6, "updates_to_target", None),
        (6, "late", -1),
        (6, "idle", "much"),
        (6, "idle", -0.5),
        (6, "staleness", -1.0),
        (6, "dropped", 10**400),
        (6, "accepted", [1, 2, 3]),
        (6, "accepted", [-1, 2, 3, 4]),
        (6, "accepted", [10**30, 2, 3, 4]),
    ],
)
def test_a_value_that_cannot_be_is_damage(tmp_path: Path, line: int, key: str, value: Any) -> None:
    written(tmp_path)
    other = written(tmp_path, seed=1)
    change(other, line, key, value)
    found = collect(tmp_path)
    assert [run.head.seed for run in found.runs] == [0]
    assert len(found.notes) == 1
    # An unreadable last line may come from an interrupt.
    assert f"{other} is damaged" in found.notes[0] or (line == 6 and "not finished" in found.notes[0])


def test_nesting_without_end_is_damage(tmp_path: Path) -> None:
    path = written(tmp_path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "[" * 200_000, *lines[1:]]))
    with pytest.raises(InputError, match="damaged"):
        read_run(path)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(place=st.floats(0, 1), junk=st.binary(min_size=1, max_size=6))
def test_whatever_happens_to_a_file_it_is_read_or_refused(tmp_path: Path, place: float, junk: bytes) -> None:
    path = written(tmp_path)
    whole = path.read_bytes()
    at = int(place * len(whole))
    path.write_bytes(whole[:at] + junk + whole[at + len(junk) :])
    with contextlib.suppress(InputError):
        read_run(path)


def test_of_two_journals_of_one_run_the_first_counts(tmp_path: Path) -> None:
    path = written(tmp_path)
    copy = path.with_name("copy.jsonl")
    copy.write_bytes(path.read_bytes())
    found = collect(tmp_path)
    assert len(found.runs) == 1
    assert (
        "that another journal has told of and left out: runs/digits/demo8/bayes/copy.jsonl" in found.notes[0]
    )


def test_many_damaged_files_are_named_up_to_a_limit(tmp_path: Path) -> None:
    written(tmp_path)
    for seed in range(1, NAMED + 4):
        written(tmp_path, seed=seed).write_text("{}\n")
    notes = collect(tmp_path).notes
    assert len(notes) == NAMED + 1
    assert notes[-1] == "3 more journals are damaged."


def nothing(folder: Path) -> None:
    (folder / "runs").mkdir()


def only_unfinished(folder: Path) -> None:
    write(folder, HEAD, points(50.0), None)


def only_damaged(folder: Path) -> None:
    written(folder).write_text("no journal")


@pytest.mark.parametrize(
    ("fill", "said"),
    [
        (nothing, r"holds no journals .*Give the folder of a study"),
        (only_unfinished, r"holds no finished run that can be read\. 1 run is not finished"),
        (only_damaged, r"holds no finished run that can be read\. Line 1 of .* is damaged"),
    ],
)
def test_a_folder_with_nothing_to_report_is_refused(
    tmp_path: Path, fill: Callable[[Path], None], said: str
) -> None:
    fill(tmp_path)
    with pytest.raises(InputError, match=said):
        collect(tmp_path)


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        collect(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is no folder"):
        collect(tmp_path / "file")


def test_the_study_gives_its_name_and_a_broken_one_is_noted(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "folder")
    assert collect(folder).name == "small"
    (folder / "study.toml").write_text("arms = 3")
    found = collect(folder)
    assert (found.name, found.study) == ("folder", None)
    assert found.notes[0].endswith("Nothing is held against a best static arm.")
    (folder / "study.toml").unlink()
    assert collect(folder).notes == ()


def test_the_path_of_a_journal_means_nothing(tmp_path: Path) -> None:
    write_arm(tmp_path, "bayes", [10.0])
    (tmp_path / "runs" / "digits").rename(tmp_path / "runs" / "elsewhere")
    assert collect(tmp_path).runs[0].head.task == "digits"
