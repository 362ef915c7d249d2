"""Real processes whose scripts do something wrong: one clear sentence each, an exit code, and nobody hangs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from live_processes import Ended, side_by_side

WORKERS = 3


@pytest.fixture(scope="module")
def troubles(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Ended]]:
    out = tmp_path_factory.mktemp("troubles")
    return out, side_by_side(WORKERS, out, "troubles.py")


@pytest.mark.parametrize(
    ("name", "beginning", "inside"),
    [
        (
            "shapes",
            "The workers do not agree on names, shapes or types of the parameters: '2 tensors of 3 numbers",
            "at workers 0 and 2, '2 tensors of 4 numbers",
        ),
        ("policy", "Unknown policy 'wait-al'. Did you mean 'wait-all'?", "Known: "),
        (
            "never",
            "Nothing was heard for 2",
            "while workers 0 and 2 waited in step(). Not heard of for 2",
        ),
        ("drift", "The nets of workers", "no longer the same at version 100, after the same updates"),
    ],
)
def test_everybody_gets_one_sentence(
    troubles: tuple[Path, list[Ended]], name: str, beginning: str, inside: str
) -> None:
    folder, ended = troubles
    for worker in range(WORKERS):
        assert (folder / f"{worker}.json").exists(), ended[worker].err
        sentence = json.loads((folder / f"{worker}.json").read_text())[name]
        assert sentence.startswith(beginning), sentence
        assert inside in sentence


def test_who_raises_an_error_ends_with_it_and_is_not_waited_for(troubles: tuple[Path, list[Ended]]) -> None:
    _, (zero, one, two) = troubles
    assert [each.code for each in (zero, one, two)] == [1, 1, 1]
    assert two.last == "RuntimeError: The script of worker 2 has a mistake."
    assert "RuntimeError: The script of worker 0 has a mistake." in zero.err, "worker 2 did not stop it"
    assert (
        "RunError: The process that had started the controller, worker 0 or the launcher, has ended."
        in one.last
    )
