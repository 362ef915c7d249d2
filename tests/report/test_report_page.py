from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from report_facts import MakePolicy, MakeSource

from tailcut.errors import InputError
from tailcut.report import write_page
from tailcut.study.facts import Comparison, SourceFacts

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Outline(HTMLParser):
    """Checks that every tag is closed in turn, and collects what a browser would fetch and what it would show."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [
            value or "" for key, value in attrs if key in {"src", "href", "xlink:href", "data", "action"}
        ]
        self.ids += [value or "" for key, value in attrs if key == "id"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def made(path: Path, *sources: SourceFacts, command: str = "tailcut compare") -> str:
    file = path / "page.html"
    write_page(Comparison(command, sources), file)
    return file.read_text(encoding="utf-8")


def test_page_holds_sentence_table_notes_figures_and_glossary(
    tmp_path: Path, make_source: MakeSource
) -> None:
    page = made(
        tmp_path, make_source(notes=("The top decile is starved.",), seeds=2), command="tailcut compare t.csv"
    )
    outline = Outline(page)
    assert outline.tags.count("svg") == outline.tags.count("figure") == 6
    for part in (
        "tailcut compare t.csv",
        "Your workers wait 31 % of the time;",
        "The top decile is starved.",
    ):
        assert part in outline.text
    assert "<code>stopping</code> would give back 24 points." in page
    assert ".940–.960" in outline.text
    assert outline.text.count("least\nserved") == outline.text.count("least served") == 1


def test_each_source_has_six_figures_and_a_link(tmp_path: Path, make_source: MakeSource) -> None:
    outline = Outline(made(tmp_path, make_source(), make_source(source="b.csv", late="finish")))
    assert outline.tags.count("svg") == 12
    assert outline.links[:2] == ["#source-1", "#source-2"]
    assert "of abandon bound" in outline.text
    assert len(outline.ids) == len(set(outline.ids))


def test_page_fetches_nothing(usual_page: str) -> None:
    page, outline = usual_page, Outline(usual_page)
    assert all(link.startswith(("#", "data:image/png")) for link in outline.links)
    assert not {"script", "link", "iframe", "object", "base"} & set(outline.tags)
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    assert "://" not in page


def test_all_text_is_escaped(tmp_path: Path, make_source: MakeSource, make_policy: MakePolicy) -> None:
    evil = "<script>alert(1)</script>\"'&--><b>"
    facts = make_source((make_policy(evil, 9.0),), source=evil, about=evil, notes=(evil,))
    page = made(tmp_path, facts, command=evil)
    outline = Outline(page)
    assert "script" not in outline.tags
    assert "b" not in outline.tags
    assert "<script" not in page
    assert outline.text.count(evil) >= 6


def test_same_facts_give_the_same_bytes(tmp_path: Path, usual_page: str, make_source: MakeSource) -> None:
    assert made(tmp_path, make_source(), command="tailcut compare trace.csv") == usual_page


def test_bytes_depend_neither_on_the_process_nor_on_user_settings(tmp_path: Path, usual_page: str) -> None:
    (tmp_path / "matplotlibrc").write_text("font.size: 30\naxes.grid: True\nlines.linewidth: 9\n")
    script = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from report_facts import source; from tailcut.report import write_page\n"
        "from tailcut.study.facts import Comparison\n"
        "write_page(Comparison('tailcut compare trace.csv', (source(),)), 'page.html')\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == usual_page


def test_odd_sources_make_a_page(tmp_path: Path, odd_source: SourceFacts) -> None:
    outline = Outline(made(tmp_path, odd_source))
    assert outline.tags.count("svg") == 6
    assert "nan" not in re.sub(r"[^a-z ]", " ", outline.text.lower()).split()


def test_no_sources_make_an_empty_page(tmp_path: Path) -> None:
    assert Outline(made(tmp_path)).tags.count("svg") == 0


def test_a_full_size_page_stays_small(
    tmp_path: Path, make_source: MakeSource, make_policy: MakePolicy
) -> None:
    generator = np.random.default_rng(0)
    some = tuple(make_policy(f"p{i}", 9.0 - i / 10) for i in range(12))
    cutoffs = {facts.policy: generator.integers(1, 159, 1000) for facts in some}
    closes = {facts.policy: generator.lognormal(0.0, 0.5, 1000) for facts in some}
    facts = make_source(
        some, seconds=generator.lognormal(0.0, 0.5, (1000, 158)), cutoffs=cutoffs, closes=closes
    )
    assert len(made(tmp_path, facts)) < 1_500_000


@pytest.mark.parametrize("place", ["folder", "missing/page.html"])
def test_a_page_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path, place: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=r"cannot be written to .*Remedy: name a file in a folder"):
        write_page(Comparison("c", ()), tmp_path / place)
    assert [entry.name for entry in tmp_path.rglob("*")] == ["folder"]


def test_a_failed_drawing_keeps_the_old_page(
    tmp_path: Path, comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "page.html"
    file.write_text("old")

    def fail(*anything: object) -> None:
        raise RuntimeError("no ink")

    monkeypatch.setattr("tailcut.report.draw.drawings", fail)
    with pytest.raises(RuntimeError, match="no ink"):
        write_page(comparison, file)
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]
    assert file.read_text() == "old"


def test_without_matplotlib_the_error_names_the_extra(tmp_path: Path) -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); sys.modules['matplotlib'] = None\n"
        "from report_facts import source; from tailcut.errors import MissingExtraError\n"
        "from tailcut.report import as_json, write_page; from tailcut.study.facts import Comparison\n"
        "found = Comparison('c', (source(),)); as_json(found)\n"
        "try: write_page(found, sys.argv[1])\n"
        "except MissingExtraError as error: print(error)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "page.html")]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    assert said == 'Drawing the page needs matplotlib, which is not installed: pip install "tailcut[report]".'
    assert not list(tmp_path.iterdir())
