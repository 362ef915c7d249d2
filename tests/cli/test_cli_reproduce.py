"""`tailcut reproduce` with a paper of two jobs: page, claims, going on, and what is refused."""

from __future__ import annotations

import errno
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import pytest

from conftest import Cli, Refused

pytest.importorskip("torch", reason="training needs it")
pytest.importorskip("sklearn", reason="the digits come with it")

from tailcut.study.parallel import Job
from tailcut.study.reproduce import papers
from tailcut.study.reproduce.experiment import Bench, Experiment, Kept, missing
from tailcut.study.reproduce.findings import Claim, Finding, Line, Plot, Sheet
from tailcut.study.reproduce.shelf import Shelf

DONE: list[int] = []


def double(number: int) -> int:
    DONE.append(number)
    if number < 0:
        raise KeyboardInterrupt
    return 2 * number


@final
@dataclass(frozen=True, slots=True)
class Doubles(Experiment):
    """Two times 1 and 2; or an interrupt after the first."""

    bench: Bench
    full: bool
    numbers: tuple[int, ...] = (1, 2)
    key: str = "doubles"

    def jobs(self, kept: Kept) -> list[Job[str, Any]]:
        return missing(
            [Job(f"doubles/{k}", double, (number,)) for k, number in enumerate(self.numbers)], kept
        )

    def finding(self, kept: Kept) -> Finding:
        values = (float(kept["doubles/0"]), float(kept["doubles/1"]))
        return Finding(
            self.key,
            "Doubles",
            f"task {self.bench.what}, full {self.full}",
            (Claim("Two is three.", False, f"{values[0]:g} is not 3", "nobody"),),
            (Sheet("s", ("a", "b"), (("x", "1"),)),),
            (Plot("p", "c", "x", "y", (Line("l", (1.0, 2.0), values),)),),
        )


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    DONE.clear()
    paper = papers.Paper("A tiny paper", lambda bench, full: (Doubles(bench, full),))
    monkeypatch.setitem(papers.PAPERS, "tiny", paper)
    broken = papers.Paper("A tiny paper", lambda bench, full: (Doubles(bench, full, (1, -1)),))
    monkeypatch.setitem(papers.PAPERS, "broken", broken)


def test_a_claim_that_does_not_hold_is_a_finding_not_a_failure(cli: Cli, folder: Path) -> None:
    ended = cli("reproduce", "tiny", "--processes", "1")
    assert ended.code == 0
    assert "does not hold here" in ended.out
    assert "0 of 1 claims hold here." in ended.out
    assert "2 is not 3" in ended.out
    page = folder / "out" / "tiny" / "index.html"
    assert str(page) in ended.out
    assert "Two is three." in page.read_text(encoding="utf-8")
    told = json.loads((folder / "out" / "tiny" / "claims.json").read_text())
    assert told["findings"][0]["claims"][0]["holds"] is False


def test_run_again_it_only_writes_the_page(cli: Cli, folder: Path) -> None:
    cli("reproduce", "tiny", "-o", "here", "--processes", "1")
    (folder / "here" / "index.html").unlink()
    cli("reproduce", "tiny", "-o", "here", "--processes", "1")
    assert DONE == [1, 2]
    assert (folder / "here" / "index.html").exists()


def test_json_goes_to_standard_output_alone(cli: Cli) -> None:
    ended = cli("reproduce", "tiny", "--json", "--full", "--processes", "1")
    told = json.loads(ended.out)
    assert told["level"] == "full"
    assert told["findings"][0]["setting"] == "task digits, full True"
    assert "out/tiny-full/index.html" in ended.err


def test_an_interrupt_keeps_what_has_ended(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = cli("reproduce", "broken", "--processes", "1")
    assert ended.code == 130
    assert "What has ended is kept in out/broken" in ended.err
    assert len((folder / "out" / "broken" / "kept.jsonl").read_text().splitlines()) == 2
    mended = papers.Paper("A tiny paper", lambda bench, full: (Doubles(bench, full, (1, 3)),))
    monkeypatch.setitem(papers.PAPERS, "broken", mended)
    assert cli("reproduce", "broken", "--processes", "1").code == 0
    assert DONE == [1, -1, 3]


def test_a_full_disk_is_said_in_a_sentence(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*what: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "out/tiny/kept.jsonl")

    monkeypatch.setattr(Shelf, "keep", full)
    ended = cli("reproduce", "tiny", "--processes", "1")
    assert ended.code == 2
    assert "out/tiny/kept.jsonl cannot be written: No space left on device. Make room" in ended.err


def test_unknown_papers_and_impossible_numbers_are_refused(refused: Refused) -> None:
    assert "Unknown paper 'chen2017'. Did you mean 'chen2016'?" in refused("reproduce", "chen2017")
    assert "--processes must be at least 1, but got 0" in refused("reproduce", "tiny", "--processes", "0")


def test_data_that_is_not_there_is_said_before_any_work(refused: Refused) -> None:
    assert "nowhere" in refused("reproduce", "tiny", "--data", "nowhere")
    assert DONE == []


def test_a_folder_of_something_else_is_refused(cli: Cli, refused: Refused, folder: Path) -> None:
    cli("reproduce", "tiny", "-o", "here", "--processes", "1")
    assert "holds another reproduction" in refused("reproduce", "tiny", "-o", "here", "--full")
    (folder / "mine").mkdir()
    (folder / "mine" / "letter.txt").write_text("x")
    assert "not empty and holds no reproduction" in refused("reproduce", "tiny", "-o", "mine")


@pytest.mark.parametrize("paper", ["chen2016", "bdsgd2018"])
def test_the_help_names_the_papers(cli: Cli, paper: str) -> None:
    assert paper in cli("reproduce", "--help").out
    assert paper in papers.PAPERS
