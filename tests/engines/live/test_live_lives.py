"""Real processes: how workers come, go, meet, stop early, and what is not finite; each in a short run of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from live_processes import side_by_side
from tests.engines.live.scripts.lives import MICRO, SIZE, Net, micro_of

WORKERS = 3


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("lives")
    ended = side_by_side(WORKERS, out, "lives.py")
    assert all((each.code, each.err) == (0, "") for each in ended), ended
    return out


def told(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads((folder / f"{name}.{worker}.json").read_text()) for worker in range(WORKERS)]


def test_loaders_of_unequal_length_end_without_hanging(lives: Path) -> None:
    seen = told(lives, "unequal")
    assert [one["steps"] for one in seen] == [3, 5, 7]
    assert [one["version"] for one in seen] == [3, 5, 7]
    assert all(one["then"].startswith("This worker has left the run") for one in seen)


def test_who_leaves_its_loop_is_no_longer_waited_for_and_keeps_the_statistics_of_all(lives: Path) -> None:
    seen = told(lives, "early")
    assert [one["version"] for one in seen] == [6, 4, 2]
    assert [one["left as it came"] for one in seen] == [False, True, True]


def test_a_gradient_that_is_not_finite_is_rejected_and_training_goes_on(lives: Path) -> None:
    seen = told(lives, "not_finite")
    everybody = list(range(WORKERS))
    for worker, one in enumerate(seen):
        assert one["seen"] == [
            [0, 1, True, everybody],
            [1, 2, True, everybody],
            [2, 3, worker != 1, [0, 2]],
            [3, 3, False, []],
            [3, 4, True, everybody],
            [4, 5, True, everybody],
            [5, 5, False, []],
            [5, 5, False, []],
        ]
        assert one["numbers"] == seen[0]["numbers"]
    assert torch.tensor(seen[0]["numbers"]).isfinite().all()


def test_workers_meet_where_their_script_asks_for_it(lives: Path) -> None:
    seen = told(lives, "meetings")
    for one in seen:
        assert one["met"] == [[version, -version] for version in range(0, 20, 5)], "all at the same version"
        assert one["numbers"] == seen[0]["numbers"]
    assert all(one["late"] > 0 for one in seen), "they skip versions in between"
    assert all(one["saved"] > 0 for one in seen)


def test_part_of_a_mini_batch_counts_by_its_samples(lives: Path) -> None:
    seen = told(lives, "partial")
    done = [{int(version): count for version, count in one["done"].items()} for one in seen]
    assert all(sorted(each) == list(range(12)) for each in done), "nobody is late"
    assert sum(done[2].values()) < 12 * MICRO, "the slow one stops early"
    torch.manual_seed(0)
    net = Net().eval()
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
    for version in range(12):
        taken = [micro for worker in range(3) for micro in micro_of(worker, version)[: done[worker][version]]]
        assert len(taken) * SIZE == len(torch.cat(taken))
        optimiser.zero_grad()
        net(torch.cat(taken)).square().mean().backward()
        optimiser.step()
    for one in seen:
        assert one["state"] == seen[0]["state"]
    for name, parameter in net.named_parameters():
        torch.testing.assert_close(
            torch.tensor(seen[0]["state"][name]), parameter.detach(), rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize("run", ["dropped", "dropped_scaled"])
def test_who_is_late_drops_its_work_at_the_next_micro_batch(lives: Path, run: str) -> None:
    seen = told(lives, run)
    for one in seen:
        assert all(count == MICRO for count, accepted in one["counts"] if accepted)
        assert one["numbers"] == seen[0]["numbers"]
    short = [count for one in seen[1:] for count, accepted in one["counts"] if not accepted]
    assert sum(short) < MICRO * len(short)
