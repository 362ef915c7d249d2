"""Links lead somewhere, and files that pages speak of are there."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from docs_markdown import PAGES, ROOT, anchors, links, name_of, prose, quoted

NOT_OURS = {
    "my_policies.py",
    "train.py",
    "test_my_policies.py",
    "steps.csv",
    "page.html",
    "out/demo.html",
    "pyproject.toml",
}
PLACES = (ROOT, ROOT / "src" / "tailcut", ROOT / "docs")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_relative_links_resolve(page: Path) -> None:
    for link in links(page):
        if re.match(r"https?://", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name_of(page)} links to {link}"
        assert ROOT in target.parents, f"{name_of(page)} links out of the project: {link}"
        if anchor:
            assert anchor in anchors(target), f"{name_of(page)} links to {link}; there are {anchors(target)}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_in_back_ticks_exist(page: Path) -> None:
    for text in quoted(page):
        if text in NOT_OURS or not re.fullmatch(r"[\w./-]*\w\.(py|md|svg|txt|toml)", text):
            continue
        assert any((place / text).exists() for place in PLACES), f"{name_of(page)} speaks of {text}"


def test_every_page_is_reached_from_the_index() -> None:
    index = ROOT / "docs" / "index.md"
    reached = {(index.parent / link.partition("#")[0]).resolve() for link in links(index)} | {index}
    assert reached >= set(PAGES)
    assert reached >= {*(ROOT / "examples").glob("*.py"), *(ROOT / "examples" / "live").glob("*.py")}


def test_all_that_contributing_places_is_there() -> None:
    page = ROOT / "CONTRIBUTING.md"
    section = prose(page).partition("## Where a change belongs")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    assert len(rows) >= 15
    for row in rows:
        for path in re.findall(r"`([^`]+)`", row):
            assert (ROOT / path).exists(), f"CONTRIBUTING.md speaks of {path}"


def test_contributing_places_all_there_is() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    package = ROOT / "src" / "tailcut"
    for path in sorted(package.iterdir()):
        if path.name.startswith(("_", ".")) or path.name == "py.typed":
            continue
        assert f"`{path.relative_to(ROOT).as_posix()}" in text, (
            f"CONTRIBUTING.md does not say what {path.name} is"
        )


def test_the_picture_of_a_round_is_what_its_script_draws() -> None:
    spec = importlib.util.spec_from_file_location("draw_round", ROOT / "docs" / "draw_round.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.PICTURE.read_text(encoding="utf-8") == script.picture(), "run python docs/draw_round.py"
