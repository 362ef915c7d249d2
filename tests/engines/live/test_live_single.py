"""A process that no launcher has started: a script, or a notebook whose cells run again and after Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from live_processes import SCRIPTS

from tailcut.engines.live.worker import store
from tailcut.errors import InputError
from tailcut.testing.chaos.processes import children, is_alive
from waiting import limit, until

PLACES = (*store.NAMES, *store.PLACES, *store.COUNTS, store.STORE)


@contextmanager
def started(script: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A process that is killed at the end of the block, if it still runs then: it would hold up all tests after it."""
    env = {name: value for name, value in os.environ.items() if name not in PLACES}
    command = [sys.executable, str(SCRIPTS / script), *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=env, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_two_scripts_on_one_machine_train_by_themselves_and_say_so_once() -> None:
    with started("single.py", "0") as one, started("single.py", "1", "whole") as other:
        ended = [process.communicate(timeout=limit(120)) for process in (one, other)]
    for process, (out, err) in zip((one, other), ended, strict=True):
        assert process.returncode == 0, err
        assert err.count("No launcher has started this process, so it trains by itself") == 1
        assert len(err.splitlines()) == 1, "nothing else, no warning that others may connect among it"
        assert json.loads(out)["whole"] == [[[0, 5], [1, 5]], 10, 0]
    told = json.loads(ended[0][0])
    assert told["stopped"] == [False, 5, 0]
    assert told["accumulated"] == [[1, 2, 3, 1] * 2, 4, 0]
    assert told["rounds"] == [6, 6, 0]
    why, version, left_behind = told["broken"]
    assert why.startswith(
        "The loop over the batches of epoch 0 was left at version 2, but the epoch ends at version 5"
    )
    assert (version, left_behind) == (2, 0)


def test_cells_of_a_notebook_run_again_also_after_they_were_interrupted() -> None:
    with started("cells.py") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "training\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=limit(120))
    assert process.returncode == 0, err
    told = json.loads(out)
    assert told["wrapped again"] == [1, 1, 1], "one controller, of the last one"
    assert told["interrupted"] == "KeyboardInterrupt"
    assert told["after it"] == 0
    assert told["the loop alone"].startswith("RunError: This worker has left the run")
    assert "wrap the optimizer once more" in told["the loop alone"]
    assert (told["both cells"], told["version"], told["left behind"]) == ("", 6, 0)


def test_a_process_that_is_killed_leaves_nothing_behind() -> None:
    with started("cells.py") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "training\n"
        controller = children(process.pid)
        assert controller
    until(lambda: not any(map(is_alive, controller)), "the controller ends with the process that started it")


@pytest.mark.parametrize(
    "told",
    [
        {"RANK": "0"},
        {"WORLD_SIZE": "2"},
        {"MASTER_PORT": "29500"},
        {"LOCAL_RANK": "0"},
        {"SLURM_STEP_NUM_TASKS": "4"},
        {"OMPI_COMM_WORLD_SIZE": "2"},
    ],
    ids=" ".join,
)
def test_one_of_several_processes_does_not_train_by_itself(
    told: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in PLACES:
        monkeypatch.delenv(name, raising=False)
    assert store.is_alone()
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "1")
    assert store.is_alone()
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    assert not store.is_alone()
    with pytest.raises(InputError, match="is not set, so this worker does not know its place"):
        store.find_store(0.1)
