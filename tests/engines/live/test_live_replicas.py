"""Real processes under random lateness: all copies equal to the bit, and what one process makes of the same sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from live_processes import side_by_side
from tests.engines.live.recipes import RECIPES, TOTAL, replayed

WORKERS = 3


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("live")
    ended = side_by_side(WORKERS, out, "late_at_random.py")
    assert all(each.code == 0 for each in ended), ended
    return out


def states(folder: Path, name: str) -> list[dict[str, torch.Tensor]]:
    return [torch.load(folder / f"{name}.{worker}.pt") for worker in range(WORKERS)]


def told(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads((folder / f"{name}.{worker}.json").read_text()) for worker in range(WORKERS)]


def accepted(folder: Path, name: str) -> dict[int, list[int]]:
    """Every round, as those who were in it tell; they must agree."""
    found: dict[int, list[int]] = {}
    for worker, one in enumerate(told(folder, name)):
        for version, members in one["accepted"].items():
            assert worker in members
            assert found.setdefault(int(version), members) == members
    return found


@pytest.mark.parametrize("name", RECIPES)
def test_all_replicas_are_equal_to_the_bit(trained: Path, name: str) -> None:
    first, *others = states(trained, name)
    for other in others:
        for key, value in first.items():
            assert torch.equal(value, other[key]), key


@pytest.mark.parametrize("name", RECIPES)
def test_one_process_makes_the_same_of_the_accepted_sets(trained: Path, name: str) -> None:
    rounds = accepted(trained, name)
    assert sorted(rounds) == list(range(TOTAL))
    expected = replayed(RECIPES[name], rounds, WORKERS)
    for key, value in states(trained, name)[0].items():
        if value.is_floating_point():
            torch.testing.assert_close(value, expected[key], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", RECIPES)
def test_everybody_was_late_now_and_then_and_overflows_were_not_used(trained: Path, name: str) -> None:
    rounds = accepted(trained, name)
    assert all(one["late"] > 10 for one in told(trained, name))
    if RECIPES[name].policy.startswith("deadline"):
        assert len({len(members) for members in rounds.values()}) > 1, "rounds of different sizes"
    overflown = [v for v in rounds for worker in rounds[v] if RECIPES[name].overflow(worker, v)]
    assert overflown == []


@pytest.mark.parametrize("name", RECIPES)
def test_reductions_among_two_and_more_went_through_shared_memory(trained: Path, name: str) -> None:
    for worker, one in enumerate(told(trained, name)):
        assert one["shared"] == sum(len(members) > 1 for members in one["accepted"].values()), worker


def test_a_frozen_and_an_unused_parameter_stay_as_they_were(trained: Path) -> None:
    for name, recipe in RECIPES.items():
        before, after = recipe.net().state_dict(), states(trained, name)[0]
        assert torch.equal(after["frozen"], before["frozen"])
        assert torch.equal(after["never"], before["never"]), (
            "weight decay does not touch what has no gradient"
        )
        assert not torch.equal(after["seldom"], before["seldom"])
        assert after["norm.num_batches_tracked"] == recipe.micro * TOTAL
