"""Jobs in stages, results kept: nothing is done twice, an interrupted command goes on, damage is mended."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import pytest

from tailcut.errors import InputError
from tailcut.study.parallel import Job
from tailcut.study.reproduce.carry_out import carry_out
from tailcut.study.reproduce.experiment import Experiment, Kept, missing
from tailcut.study.reproduce.findings import Claim, Finding
from tailcut.study.reproduce.shelf import Shelf

WHAT = {"paper": "p", "level": "quick"}


def square(number: int, log: list[int]) -> int:
    log.append(number)
    return number * number


def refuse(log: list[int]) -> int:
    raise KeyboardInterrupt


@final
@dataclass(frozen=True, slots=True)
class Sums(Experiment):
    """Squares of 1 and 2; then the square of their sum, which needs both."""

    log: list[int] = field(default_factory=list)
    breaks: bool = False
    key: str = "sums"

    def jobs(self, kept: Kept) -> list[Job[str, Any]]:
        first = missing([Job(f"sums/{k}", square, (k, self.log)) for k in (1, 2)], kept)
        if first:
            return first
        total = kept["sums/1"] + kept["sums/2"]
        work = (
            Job("sums/all", refuse, (self.log,))
            if self.breaks
            else Job("sums/all", square, (total, self.log))
        )
        return missing([work], kept)

    def finding(self, kept: Kept) -> Finding:
        return Finding(self.key, "t", "s", (Claim("c", False, str(kept["sums/all"]), "w"),))


def figure(experiment: Experiment, shelf: Shelf) -> str:
    told: list[tuple[str, int, int]] = []
    kept = shelf.claim(WHAT)
    (finding,) = carry_out([experiment], shelf, kept, 1, lambda *what: told.append(what))
    return finding.claims[0].figure


def test_later_jobs_see_the_results_of_earlier_ones(tmp_path: Path) -> None:
    sums = Sums()
    assert figure(sums, Shelf(tmp_path / "out")) == "25"
    assert sums.log == [1, 2, 5]


def test_what_has_ended_is_not_done_again(tmp_path: Path) -> None:
    shelf, again = Shelf(tmp_path / "out"), Sums()
    figure(Sums(), shelf)
    assert figure(again, shelf) == "25"
    assert again.log == []


def test_an_interrupted_command_goes_on(tmp_path: Path) -> None:
    shelf, again = Shelf(tmp_path / "out"), Sums()
    with pytest.raises(KeyboardInterrupt):
        figure(Sums(breaks=True), shelf)
    assert figure(again, shelf) == "25"
    assert again.log == [5]


def test_two_experiments_share_a_job(tmp_path: Path) -> None:
    shelf, log = Shelf(tmp_path / "out"), []  # type: ignore[var-annotated]
    carry_out([Sums(log), Sums(log)], shelf, shelf.claim(WHAT), 1, lambda *what: None)
    assert log == [1, 2, 5]


@pytest.mark.parametrize("torn", [8, 30])
def test_a_torn_line_is_done_again_and_swallows_nothing(tmp_path: Path, torn: int) -> None:
    shelf, again = Shelf(tmp_path / "out"), Sums()
    figure(Sums(), shelf)
    file = tmp_path / "out" / "kept.jsonl"
    file.write_bytes(file.read_bytes()[:-torn])
    assert figure(again, shelf) == "25"
    assert again.log == [5]
    assert shelf.claim(WHAT)["sums/all"] == 25


def test_a_damaged_line_in_the_middle_is_done_again(tmp_path: Path) -> None:
    shelf, again = Shelf(tmp_path / "out"), Sums()
    figure(Sums(), shelf)
    file = tmp_path / "out" / "kept.jsonl"
    lines = file.read_text().splitlines()
    lines[1] = '{"key": 7}'
    file.write_text("\n".join(lines) + "\n")
    figure(again, shelf)
    assert again.log == [1]


def test_a_folder_of_another_reproduction_is_refused(tmp_path: Path) -> None:
    Shelf(tmp_path / "out").claim(WHAT)
    with pytest.raises(InputError, match="holds another reproduction"):
        Shelf(tmp_path / "out").claim({**WHAT, "level": "full"})


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(InputError, match="not empty and holds no reproduction"):
        Shelf(tmp_path).claim(WHAT)
    with pytest.raises(InputError, match="holds no reproduction"):
        Shelf(tmp_path / "mine.txt").claim(WHAT)
