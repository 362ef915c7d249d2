"""Real processes whose scripts cannot work, or seed each worker with a number of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from live_processes import Ended, side_by_side

WORKERS = 3
Guards = tuple[list[dict[str, str]], list[Ended]]


@pytest.fixture(scope="module")
def guards(tmp_path_factory: pytest.TempPathFactory) -> Guards:
    out = tmp_path_factory.mktemp("guards")
    ended = side_by_side(WORKERS, out, "guards.py")
    assert [each.code for each in ended] == [0, 0, 0], ended
    return [json.loads(Path(out, f"{worker}.json").read_text()) for worker in range(WORKERS)], ended


def test_workers_that_were_seeded_apart_train_the_net_of_worker_0(guards: Guards) -> None:
    said, _ = guards
    assert len({each["seeds"] for each in said}) == 1


@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        ("compared", "The workers do not agree on the numbers that the net begins with"),
        (
            "by_hand",
            "Workers use different options of the optimizer at version 9: lr is 0.0",
        ),
        ("in_ddp", "The net runs within DistributedDataParallel, which waits for all workers"),
    ],
)
def test_everybody_gets_one_sentence(guards: Guards, name: str, beginning: str) -> None:
    said, _ = guards
    for each in said:
        assert each[name].startswith(beginning)


def test_the_sentence_names_the_option_with_its_values(guards: Guards) -> None:
    [why] = {each["by_hand"] for each in guards[0]}
    assert "0.025 at worker 1" in why
    assert "0.03333333333333333 at worker" in why


def test_who_waits_for_whom_is_said_before_the_run_ends(guards: Guards) -> None:
    _, (zero, _, _) = guards
    [line] = [each for each in zero.err.splitlines() if "Workers wait for each other" in each]
    assert line.startswith("tailcut: ")
    assert "worker 1 is in barrier(), at " in line
    assert "workers 0 and 2 wait in step(), at " in line
    assert "scripts/guards.py:" in line
    assert "(collective)" in line
    assert "(steps)" in line
