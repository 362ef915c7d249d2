"""Writing a run's folder: its one writer, how often it writes, and a full disk."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from tests.engines.live.hub_scripts import Fleet, applied, arrived, begun
from tests.engines.records.recorded import asked, hub_of, record

from tailcut.engines.records.files import RunFolder
from tailcut.engines.records.listener import Guarded, Several
from tailcut.engines.records.now import Now, read_now
from tailcut.engines.records.read import read_run
from tailcut.engines.records.run_files import RunFiles
from tailcut.engines.records.start import asked_now, listeners
from tailcut.errors import InputError, MissingExtraError
from tailcut.table import Table

TABLE = Table.dense(np.random.default_rng(3).uniform(0.5, 1.5, size=(40, 3)))


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file of this process can become larger."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_folder_with_a_run_is_refused_and_another_named(tmp_path: Path) -> None:
    folder = record(tmp_path / "run", TABLE)
    (tmp_path / "run-2").mkdir()
    before = (folder / "rounds.jsonl").read_bytes()
    with pytest.raises(
        InputError, match=r"run holds a run already\. Give another folder, such as .*/run-3\."
    ):
        RunFiles(RunFolder(folder), asked())
    assert (folder / "rounds.jsonl").read_bytes() == before


def test_other_files_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "checkpoint.pt").write_text("weights")
    record(tmp_path, TABLE)
    assert (tmp_path / "checkpoint.pt").read_text() == "weights"
    assert len(read_run(tmp_path).rounds) == TABLE.rounds


def test_a_folder_that_cannot_be_had_is_said_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file is a file"):
        RunFiles(RunFolder(tmp_path / "file"), asked())
    with pytest.raises(InputError, match=r"cannot be recorded in .*/run \(Not a directory\)"):
        RunFiles(RunFolder(tmp_path / "file" / "run"), asked())
    with room_for(10), pytest.raises(InputError, match="File too large"):
        RunFiles(RunFolder(tmp_path / "full"), asked())


def test_a_disk_that_fills_up_ends_the_record_with_one_sentence_and_not_the_run(tmp_path: Path) -> None:
    said: list[str] = []
    files = RunFiles(RunFolder(tmp_path / "run"), asked(), calendar=lambda: 0.0)
    guarded = Guarded(files, f"The record of the run in {tmp_path / 'run'}", said.append)
    hub = hub_of(TABLE, "wait-all", "finish", guarded)
    fleet = Fleet(hub, TABLE)
    with room_for(10_000):
        fleet.run(TABLE.rounds)
        guarded.look(hub, fleet.now)
        guarded.end(hub, fleet.now)
    assert hub.version == TABLE.rounds
    assert said == [
        f"The record of the run in {tmp_path / 'run'} ends here: File too large. The run goes on without it."
    ]
    kept = read_run(tmp_path / "run")
    assert 0 < len(kept.rounds) < TABLE.rounds
    assert kept.ending is None


def test_now_is_told_at_most_four_times_a_second_and_rounds_are_there_after_a_second(tmp_path: Path) -> None:
    clock = [100.0]
    files = RunFiles(RunFolder(tmp_path), asked(clock=0.0), calendar=lambda: clock[0])
    hub = hub_of(TABLE, "wait-all", "finish", files)
    written: list[float] = []
    Fleet(hub, TABLE).run(1)
    for moment in np.arange(0.0, 2.0, 0.05):
        clock[0] = 100.0 + moment
        files.look(hub, float(moment))
        now = read_now(tmp_path / "now.json")
        assert now is not None
        written.append(now.written)
    assert len(set(written)) == 8
    # The record is neither closed nor ended yet.
    assert len(read_run(tmp_path).rounds) == 1
    assert read_run(tmp_path).ending is None
    files.give_up()


def now_of(files: RunFiles, hub: object, moment: float, folder: Path) -> Now:
    files.look(hub, moment)  # type: ignore[arg-type]
    now = read_now(folder / "now.json")
    assert now is not None
    return now


def test_now_says_what_each_worker_does_and_since_when(tmp_path: Path) -> None:
    files = RunFiles(RunFolder(tmp_path), asked(), calendar=lambda: 0.0)
    hub = hub_of(TABLE, "backup:c=2", "finish", files)
    begun(hub)
    now = now_of(files, hub, 0.0, tmp_path)
    assert [(one.doing, one.version) for one in now.workers] == [("computes", 0)] * 3
    assert [one.share for one in now.workers] == [None] * 3
    hub.handle(arrived(1), 1.0)
    now = now_of(files, hub, 3.0, tmp_path)
    assert [(one.doing, one.seconds) for one in now.workers] == [
        ("computes", 3.0),
        ("waits", 2.0),
        ("computes", 3.0),
    ]
    hub.handle(arrived(0), 3.5)
    hub.think()
    now = now_of(files, hub, 4.0, tmp_path)
    assert [one.doing for one in now.workers] == ["reduces", "reduces", "computes"]
    hub.handle(applied(0, 1), 4.5)
    hub.think()
    now = now_of(files, hub, 4.5, tmp_path)
    assert [one.doing for one in now.workers] == ["computes", "reduces", "computes"]
    assert [one.share for one in now.workers] == [1.0, 1.0, 0.0]
    assert (now.rounds, now.cutoffs, now.over) == (1, (2,), False)
    files.end(hub, 5.0)
    last = read_now(tmp_path / "now.json")
    assert last is not None
    assert last.over


def test_a_run_that_never_came_to_a_round_leaves_nothing(tmp_path: Path) -> None:
    files = RunFiles(RunFolder(tmp_path / "run"), asked())
    files.give_up()
    assert list((tmp_path / "run").iterdir()) == []


def test_another_goes_on_in_a_folder_that_was_handed_over_even_without_a_round(tmp_path: Path) -> None:
    RunFiles(RunFolder(tmp_path), asked()).hand_over()
    run = read_run(tmp_path)
    assert (run.rounds, run.ending) == ([], None)
    files = RunFiles(RunFolder(tmp_path), asked(), goes_on=True)
    Fleet(hub_of(TABLE, "wait-all", "finish", files), TABLE).run(1)
    files.hand_over()
    assert len(read_run(tmp_path).rounds) == 1


def test_a_round_that_is_made_again_takes_the_place_of_the_first(tmp_path: Path) -> None:
    files = RunFiles(RunFolder(tmp_path), asked())
    hub = hub_of(TABLE, "wait-all", "finish", Several([files]))
    Fleet(hub, TABLE).run(3)
    files.hand_over()
    told = read_run(tmp_path).rounds
    again = RunFiles(RunFolder(tmp_path), asked(), goes_on=True)
    for each in told:
        again.known(each)
    again.round(told[1])
    again.hand_over()
    run = read_run(tmp_path)
    assert [one.version for one in run.rounds] == [0, 1]
    assert run.returns == (1,)


def test_the_next_controller_counts_what_was_recorded_before_it(tmp_path: Path) -> None:
    """Half of a line is cut off first, however long it is."""
    whole, parts = RunFolder(tmp_path / "whole"), RunFolder(tmp_path / "parts")
    before, said = asked(), list[str]()
    for folder in (whole, parts):
        listener = listeners(before, folder.root, None, said.append)
        hub = hub_of(TABLE, "backup:b=1", "finish", listener)
        fleet = Fleet(hub, TABLE)
        fleet.run(20)
        if folder is parts:
            listener.hand_over()
            with folder.rounds.open("ab") as file:
                file.write(b'{"kind": "round", "x": "' + 200_000 * b"x")
            listener = listeners(before, folder.root, None, said.append, goes_on=True)
        listener.end(hub, fleet.now)
    assert parts.stragglers.read_text() == whole.stragglers.read_text()
    assert parts.rounds.read_bytes() == whole.rounds.read_bytes()
    told, usual = (read_now(folder.now) for folder in (parts, whole))
    assert told is not None
    assert usual is not None
    assert (told.rounds, told.saved) == (usual.rounds, usual.saved)


def test_nothing_is_kept_unless_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    listener = listeners(asked_now("bayes", "linear", "finish", 3, 7, lambda: 5.0), None, None, print)
    assert isinstance(listener, Several)
    hub = hub_of(TABLE, "wait-all", "finish", listener)
    Fleet(hub, TABLE).run(3)
    listener.end(hub, 3.0)
    assert list(tmp_path.iterdir()) == []


def test_scalars_without_tensorboard_name_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tensorboard", None)
    with pytest.raises(MissingExtraError, match=r'pip install "tailcut\[tensorboard\]"'):
        listeners(asked(), tmp_path / "run", tmp_path / "board", print)
    assert not (tmp_path / "run").exists()
