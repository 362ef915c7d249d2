"""`tailcut controller`: a real process, and what it leaves in folders."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
import zmq
from tests.engines.live.hub_scripts import applied, arrived, bye, hello
from tests.engines.records.recorded import record

from tailcut.engines.live.messages import Close, FromController, New, Over
from tailcut.engines.live.wire import FROM_CONTROLLER, encode
from tailcut.engines.live.worker.controller_process import DESERTED
from tailcut.engines.records.now import read_now
from tailcut.engines.records.read import Ending, read_run
from tailcut.table import Table
from waiting import limit

Refused: TypeAlias = Callable[..., str]

TOTAL = 12
CONTROLLER = [sys.executable, "-m", "tailcut.cli", "controller"]


def train(address: str, workers: int) -> None:
    """Workers without nets: all arrive, all are in, until the run is over."""
    with zmq.Context() as context:
        lines = [context.socket(zmq.DEALER) for _ in range(workers)]

        def hears(worker: int, kind: type[FromController]) -> None:
            assert lines[worker].poll(round(limit(60_000))), "no answer came"
            assert isinstance(message := FROM_CONTROLLER.read(lines[worker].recv()), kind), message

        for worker, line in enumerate(lines):
            line.setsockopt(zmq.LINGER, 1000)
            line.connect(address)
            line.send(encode(hello(worker, workers)))
        for worker in range(workers):
            hears(worker, New)
        for version in range(TOTAL):
            for worker, line in enumerate(lines):
                # The third takes three times as long, and the second every now and then.
                slow = 3.0 if worker == 2 or (worker == 1 and version % 4 == 0) else 1.0
                # By their own clocks, and longer than it really takes.
                line.send(encode(arrived(worker, version, 10.0 * slow)))
            for worker, line in enumerate(lines):
                hears(worker, Close)
                line.send(encode(applied(worker, version + 1)))
        for worker, line in enumerate(lines):
            hears(worker, Over)
            line.send(encode(bye(worker, TOTAL)))
        for line in lines:
            line.close()


def test_a_run_from_its_folder(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="needs the extra tensorboard")
    options = ["--workers=4", "--policy=wait-all", f"--total={TOTAL}", f"--journal={tmp_path / 'run'}"]
    options.append(f"--tensorboard={tmp_path / 'board'}")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*CONTROLLER, *options], text=True, **pipes) as process:  # type: ignore[call-overload]
        train(process.stdout.readline().strip(), 4)
        # Its input stays open until it has ended: it would take the end of that for the end of its worker.
        process.wait(timeout=limit(60))
        said = process.stderr.read()
    assert process.returncode == 0, said
    run = read_run(tmp_path / "run")
    assert [one.version for one in run.rounds] == list(range(TOTAL))
    assert run.ending == Ending(TOTAL, None)
    assert (run.asked.total, len(run.asked.takers), run.asked.process) == (TOTAL, 4, process.pid)
    now = read_now(tmp_path / "run" / "now.json")
    assert now is not None
    assert (now.over, now.version, [one.doing for one in now.workers]) == (True, TOTAL, ["left"] * 4)
    first, *more = said.splitlines()
    assert first == (
        f"tailcut: {TOTAL} rounds of 4 workers. The slowest, worker 2, takes 3.00 times as long as the median one."
    )
    assert [line.partition(" (")[0] for line in more] == [
        "tailcut: Slow all the time: worker 2",
        "tailcut: Slow now and then: worker 1",
    ]
    facts = json.loads((tmp_path / "run" / "stragglers.json").read_text())
    assert [one["pace"] for one in facts["workers"]] == ["steady", "now and then", "persistent", "steady"]
    assert len(list((tmp_path / "board").iterdir())) == 1


def test_one_whose_workers_have_all_vanished_says_so_and_another_goes_on_in_its_folder(
    tmp_path: Path,
) -> None:
    options = [*CONTROLLER, "--workers=1", "--policy=wait-all", f"--journal={tmp_path / 'run'}"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with zmq.Context() as context:
        for term, more in ((1, ()), (2, ("--term=2", "--follows-loss=1", "--total=2"))):
            line = context.socket(zmq.DEALER)
            with subprocess.Popen([*options, *more], text=True, **pipes) as process:  # type: ignore[call-overload]
                line.connect(process.stdout.readline().strip())
                where = {"term": term - 1, "epoch": term - 1, "version": term - 1}
                line.send(encode(hello(0, 1, **where)))
                line.send(encode(arrived(0, term - 1, term=term, epoch=term)))
                line.send(encode(applied(0, term, term=term, epoch=term)))
                line.send(encode(bye(0, term, term=term, epoch=term))) if term == 2 else None
                # A worker that has left has read its last answer.
                while not isinstance(FROM_CONTROLLER.read(line.recv()), Close):
                    pass
                line.close()
                process.wait(timeout=limit(60))
                said = process.stderr.read()
            if term == 1:
                assert process.returncode == DESERTED, said
                assert (
                    "tailcut: All workers with the net's state have ended, or are cut off, at version 1."
                    in said
                )
                assert read_run(tmp_path / "run").ending is None, "nor is it over for who watches"
                now = read_now(tmp_path / "run" / "now.json")
                assert now is None or not now.over
    assert process.returncode == 0, said
    run = read_run(tmp_path / "run")
    assert ([one.version for one in run.rounds], run.ending) == ([0, 1], Ending(2, None))


def test_a_folder_that_holds_a_run_is_refused_before_anybody_connects(folder: Path, refused: Refused) -> None:
    record(folder / "run", Table.dense(np.ones((2, 2))))
    sentence = refused("controller", "--workers", "2", "--journal", "run")
    assert "run holds a run already. Give another folder, such as run-2." in sentence


def test_a_controller_that_cannot_begin_leaves_its_folder_free(folder: Path, refused: Refused) -> None:
    (folder / "run").mkdir()
    with zmq.Context() as context, context.socket(zmq.REP) as taken:
        taken.bind("tcp://127.0.0.1:0")
        address = taken.getsockopt_string(zmq.LAST_ENDPOINT)
        sentence = refused("controller", "--workers", "2", "--journal", "run", "--address", address)
        assert "the port is in use" in sentence
    assert "at least 1 worker" in refused("controller", "--workers", "0", "--journal", "run")


def test_a_run_cannot_wait_for_more_workers_than_there_are(folder: Path, refused: Refused) -> None:
    sentence = refused("controller", "--workers", "2", "--min-workers", "3")
    assert "min_workers must be from 1 to 2, but got 3." in sentence
