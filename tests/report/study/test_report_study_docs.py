"""The page docs/study.md describes the report as it is."""

from __future__ import annotations

import re
from pathlib import Path

from tests.study.grid.study_journals import write_study

from tailcut.report.study import study_json
from tailcut.report.study.columns import COLUMNS
from tailcut.study.grid.collect import collect
from tailcut.study.grid.statics import ERROR, MARGIN
from tailcut.study.grid.summary import study_facts

PAGE = Path(__file__).parents[3] / "docs" / "study.md"


def section() -> str:
    return PAGE.read_text(encoding="utf-8").partition("## The report")[2]


def test_every_key_and_every_column_is_explained(tmp_path: Path) -> None:
    text = section()
    for key in study_json(study_facts(collect(write_study(tmp_path))))[0]:
        assert f"`{key}`" in text, f"docs/study.md does not explain {key}"
    for column in COLUMNS:
        assert f"| {column.title} |" in text, f"docs/study.md does not explain {column.title}"


def test_every_explained_column_and_key_is_there(tmp_path: Path) -> None:
    keys = set(study_json(study_facts(collect(write_study(tmp_path))))[0])
    table = section().partition("| column | JSON | meaning |")[2].partition("\n\n")[0]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| ")]
    titles = {row[1].strip() for row in rows} - {"", "---"}
    assert titles == {column.title for column in COLUMNS}
    assert {key for row in rows for key in re.findall(r"`(\w+)`", row[2])} <= keys


def test_figures_on_the_page_are_those_of_the_code() -> None:
    assert f"at most {100 * ERROR:g} %" in section()
    assert f"is above {MARGIN}" in section()
