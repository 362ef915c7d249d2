"""Real processes, killed in every phase: the others go on, with the same nets, and no update is lost or doubled."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from live_processes import Ended, side_by_side
from tests.engines.live.scripts.deaths import DIE, TOTAL
from torch import nn

from tailcut.engines.records.read import read_run

WORKERS = 6
SURVIVORS = sorted(set(range(WORKERS)) - set(DIE))


@pytest.fixture(scope="module")
def deaths(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Ended]]:
    out = tmp_path_factory.mktemp("deaths")
    return out, side_by_side(WORKERS, out, "deaths.py")


def told(folder: Path) -> list[dict[str, Any]]:
    return [json.loads((folder / f"{worker}.json").read_text()) for worker in SURVIVORS]


def test_only_who_was_killed_has_not_ended_well(deaths: tuple[Path, list[Ended]]) -> None:
    _, ended = deaths
    assert [one.code for one in ended] == [-signal.SIGKILL if w in DIE else 0 for w in range(WORKERS)], ended
    said = [
        line.partition(" of ")[2][:8] for line in ended[0].err.splitlines() if "process has ended" in line
    ]
    assert said == [f"worker {w}" for w in sorted(DIE, reverse=True)]


def test_survivors_have_made_all_updates_once_and_alike(deaths: tuple[Path, list[Ended]]) -> None:
    one, other = told(deaths[0])
    assert one["numbers"] == other["numbers"]
    assert one["made"] == other["made"]
    assert [made[0] for made in one["made"]] == list(range(1, TOTAL + 1))


def test_who_is_dead_is_in_no_update_after_it(deaths: tuple[Path, list[Ended]]) -> None:
    one, _ = told(deaths[0])
    for version, *members in one["made"]:
        # A worker that dies while it applies an update is in that update.
        alive = [
            w for w in range(WORKERS) if w not in DIE or version <= DIE[w][1] + (DIE[w][0] == "applying")
        ]
        assert members == alive


def test_one_process_that_makes_the_recorded_updates_has_the_same_net(
    deaths: tuple[Path, list[Ended]],
) -> None:
    folder, _ = deaths
    rounds = read_run(folder / "run").rounds
    assert [one.version for one in rounds] == list(range(TOTAL)), "each round is told once"
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    inner = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    one, _ = told(folder)
    for made, *members in one["made"]:
        inner.zero_grad()
        for worker in members:
            generator = torch.Generator().manual_seed(100 * (made - 1) + worker)
            (net(torch.randn(4, 4, generator=generator)).square().mean() / len(members)).backward()
        for group in inner.param_groups:
            group["lr"] = 0.1 * len(members) / WORKERS  # the linear rule
        inner.step()
    assert net.weight.reshape(-1).tolist() == pytest.approx(one["numbers"], abs=1e-5)
