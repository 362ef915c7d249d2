"""Real processes: what many training scripts do, beside DDP where it does so too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from live_processes import side_by_side
from tests.engines.live.scripts.habits import EPOCHS, IN_EPOCH, UPDATES

WORKERS = 2


@pytest.fixture(scope="module")
def habits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("habits")
    ended = side_by_side(WORKERS, out, "habits.py")
    assert [each.code for each in ended] == [0] * WORKERS, ended
    return out


def told(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads((folder / f"{name}.{worker}.json").read_text()) for worker in range(WORKERS)]


@pytest.mark.parametrize(
    ("name", "dtype", "noise"),
    [
        ("bfloat16", "torch.bfloat16", 0.02),
        ("checkpointed", "torch.float32", 1e-4),
        ("checkpointed_reentrant", "torch.float32", 1e-4),
    ],
)
def test_the_loss_is_that_of_ddp_and_all_replicas_are_the_same(
    habits: Path, name: str, dtype: str, noise: float
) -> None:
    """A number in bfloat16 has eight binary digits, so rounding shows."""
    one, other = told(habits, name)
    for how in ("ddp", "tailcut"):
        assert one[how] == other[how]
        assert one[how]["dtypes"] == [dtype]
    assert one["ddp"]["loss"] < 0.3, "the mean would have 1"
    assert one["tailcut"]["loss"] == pytest.approx(one["ddp"]["loss"], rel=noise)


def test_loaders_of_unequal_length_make_epochs_of_one_length(habits: Path) -> None:
    one, other = told(habits, "unequal")
    ends = [IN_EPOCH * (epoch + 1) for epoch in range(EPOCHS)]
    assert one["ends"] == other["ends"] == [[end, end] for end in ends]
    assert one["digest"] == other["digest"]
    for each in (one, other):
        assert each["without updates"].startswith("The workers do not agree")


def test_a_progress_bar_goes_around_rounds_and_around_the_batches_of_an_epoch(habits: Path) -> None:
    one, other = told(habits, "bars")
    assert one["steps"] == other["steps"] == [UPDATES, EPOCHS * IN_EPOCH]
    assert one["digest"] == other["digest"]
    assert other["screen"] == ""
    assert f"{UPDATES}/{UPDATES}" in one["screen"]
    for epoch in range(EPOCHS):
        assert f"epoch {epoch}: 100%" in one["screen"]
    assert f"version={EPOCHS * IN_EPOCH}" in one["screen"]
