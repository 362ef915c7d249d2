"""The check of docstrings finds what it is to find."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.plain_words import main, refused

SOURCE = '''"""{0}"""

LIMIT = 3
"""{1}"""


class One:
    """{2}"""

    size: int = 1
    """{3}"""

    def do(self):
        """{4}"""
        value = "Of no concern."
        return value
'''
GOOD = (
    "Hold one thing.",
    "Longest pause, in seconds.",
    "A thing.",
    "Number of parts.",
    "`(n,)` Return the parts.",
)


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize(
    "bad", ["Of a key.", "Whether it ends.", "`(n,)` where it is.", "Nobody knows.", "If so."]
)
def test_each_kind_of_docstring_is_read(place: int, bad: str) -> None:
    texts = [*GOOD[:place], bad, *GOOD[place + 1 :]]
    assert [text for _, text in refused(SOURCE.format(*texts))] == [bad]


def test_good_ones_pass_and_other_strings_do_not_count() -> None:
    assert refused(SOURCE.format(*GOOD)) == []


def test_what_is_refused_is_named_with_file_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "one.py").write_text(SOURCE.format(*GOOD))
    assert main([str(tmp_path)]) == 0
    (tmp_path / "two.py").write_text(SOURCE.format("What it is.", *GOOD[1:]))
    assert main([str(tmp_path)]) == 1
    assert capsys.readouterr().out == (
        f"{tmp_path / 'two.py'}:1: give this docstring a subject or a verb of its own: What it is.\n"
    )
