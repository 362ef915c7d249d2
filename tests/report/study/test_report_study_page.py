"""The page of a study: whole, self-contained, the same every time, whatever came of the runs."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.study.grid.study_journals import HEAD, INF, points, trained, write, write_arm, write_study

from tailcut.errors import InputError
from tailcut.report.study import write_study_page
from tailcut.study.grid.collect import collect
from tailcut.study.grid.facts import StudyFacts
from tailcut.study.grid.summary import study_facts

FIGURES = 11
"""Number of figures of a case whose target is not about the loss."""


class Outline(HTMLParser):
    """Checks that every tag is closed in turn; collects tags, links and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for key, value in attrs if key in {"src", "href", "xlink:href"}]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def facts(folder: Path) -> StudyFacts:
    return study_facts(collect(folder))


def made(folder: Path) -> str:
    file = folder / "page.html"
    write_study_page(facts(folder), "tailcut report out", file)
    return file.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A study of two cases with an unfinished run, and its page."""
    folder = write_study(tmp_path_factory.mktemp("usual") / "study")
    write_arm(folder, "bayes", [30.0, 40.0], cluster="nodes16")
    write_arm(folder, "wait-all", [90.0, 100.0], cluster="nodes16")
    write(folder, replace(HEAD, seed=7), points(3.0), None)
    return folder, made(folder)


def test_it_holds_sentences_tables_figures_notes_and_glossary(usual: tuple[Path, str]) -> None:
    page, outline = usual[1], Outline(usual[1])
    assert outline.tags.count("figure") == 2 * FIGURES
    for part in (
        "small: time to target",
        "tailcut report out",
        "1 run is not finished and left out",
        "Of 3 runs each these arms have fewer",
        "0.800 (0.800–0.800)",
        "Noise scale over time",
        "Whose gradients were used",
    ):
        assert part in outline.text, part
    assert "<code>bayes</code> reaches 96 % accuracy in 35.0 s" in page
    # The headline table, and two tables for each case.
    assert outline.tags.count("table") == 5
    assert [link for link in outline.links if link.startswith("#source")] == ["#source-1", "#source-2"] * 2


def test_it_fetches_nothing(usual: tuple[Path, str]) -> None:
    outline = Outline(usual[1])
    assert all(link.startswith("#") for link in outline.links)
    assert not {"script", "link", "iframe", "object", "img"} & set(outline.tags)
    assert "://" not in usual[1]
    assert not re.search(r"url\((?!#)", usual[1])


def test_every_figure_is_a_picture_with_units(usual: tuple[Path, str]) -> None:
    drawings = re.findall(r"<svg.*?</svg>", usual[1], flags=re.DOTALL)
    assert len(drawings) == 2 * FIGURES
    for svg in drawings:
        ElementTree.fromstring(svg.replace("xlink:href", "href"))
        assert 'role="img" aria-label="' in svg
    for axis in (
        "virtual time, seconds",
        "virtual time to the target, seconds",
        "noise scale, samples",
        "gradients in an update, of 4",
        "per cent of the time",
        "gradients that arrived in a run, kB",
    ):
        assert f">{axis}<" in usual[1], axis


def test_the_same_facts_give_the_same_bytes(tmp_path: Path) -> None:
    write_arm(tmp_path, "bayes", [30.0, 40.0])
    assert made(tmp_path) == made(tmp_path)


def test_names_are_escaped(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>\"'&--><b>"
    seen = points(10.0)
    head = replace(HEAD, task=evil, cluster=evil, arm=evil, policy="p", rate_rule=evil)
    write(tmp_path, head, seen, trained(10.0, seen))
    page = made(tmp_path)
    outline = Outline(page)
    assert "script" not in outline.tags
    assert "<script" not in page
    assert outline.text.count(evil) >= 4


def all_diverged(folder: Path) -> None:
    for seed in range(3):
        write(folder, replace(HEAD, seed=seed), [], trained(1.0, [], ending="diverged"))


def diverged_after_a_look(folder: Path) -> None:
    seen = points(1.0, count=1, figures={"accuracy": 0.1, "loss": INF}, noise=INF)
    write(folder, HEAD, seen, trained(1.0, seen, ending="diverged"))


def nobody_there(folder: Path) -> None:
    write_arm(folder, "a", [INF, INF])
    write_arm(folder, "b", [INF])


def one_seed(folder: Path) -> None:
    write_study(folder, seeds=1)


def one_worker(folder: Path) -> None:
    seen = points(2.0)
    head = replace(HEAD, workers=1, parameters=0)
    write(folder, head, seen, trained(2.0, seen, accepted=[50], late=0))


def about_the_loss(folder: Path) -> None:
    seen = points(2.0, figures={"loss": -0.5})
    write(folder, replace(HEAD, figure="loss", value=-0.4, at="most"), seen, trained(2.0, seen))


def many_arms(folder: Path) -> None:
    for place in range(14):
        write_arm(
            folder, f"an arm with a name that is much too long for a legend, number {place}", [9.0 + place]
        )


@pytest.mark.parametrize(
    ("fill", "figures"),
    [
        (all_diverged, 4),
        (diverged_after_a_look, 8),
        (nobody_there, FIGURES),
        (one_seed, FIGURES),
        (one_worker, FIGURES),
        (about_the_loss, 9),
        (many_arms, FIGURES),
    ],
)
def test_odd_studies_make_a_page(tmp_path: Path, fill: object, figures: int) -> None:
    fill(tmp_path)  # type: ignore[operator]
    outline = Outline(made(tmp_path))
    assert outline.tags.count("svg") == figures
    words = re.sub(r"[^a-z ]", " ", outline.text.lower()).split()
    assert not {"nan", "inf"} & set(words)


def test_a_huge_journal_is_drawn_in_reasonable_time(tmp_path: Path) -> None:
    seen = points(500.0, count=20_000)
    write(tmp_path, replace(HEAD, arm="async"), seen, trained(500.0, seen))
    begun = time.process_time()
    page = made(tmp_path)
    assert time.process_time() - begun < 20.0
    assert len(page) < 400_000


@pytest.mark.parametrize("place", ["folder", "missing/page.html"])
def test_a_page_that_cannot_be_written_leaves_nothing_behind(
    tmp_path: Path, usual: tuple[Path, str], place: str
) -> None:
    (tmp_path / "folder").mkdir()
    empty = StudyFacts("x", (), (), ())
    with pytest.raises(InputError, match=r"cannot be written to .*Remedy: name a file in a folder"):
        write_study_page(empty, "c", tmp_path / place)
    assert [entry.name for entry in tmp_path.rglob("*")] == ["folder"]


def test_without_matplotlib_the_error_names_the_extra(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from tailcut.errors import MissingExtraError; from tailcut.report.study import write_study_page\n"
        "from tailcut.study.grid.facts import StudyFacts\n"
        "try: write_study_page(StudyFacts('x', (), (), ()), 'c', sys.argv[1])\n"
        "except MissingExtraError as error: print(error)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "page.html")]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    assert said == 'Drawing the page needs matplotlib, which is not installed: pip install "tailcut[report]".'
    assert not list(tmp_path.iterdir())
