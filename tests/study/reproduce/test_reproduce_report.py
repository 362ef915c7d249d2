"""The claims told three ways, all from the same record."""

from __future__ import annotations

import json
import math
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.console import Console

from tailcut.errors import InputError
from tailcut.report.reproduce import claims_table, reproduction_json, write_reproduction_page
from tailcut.study.reproduce.findings import Claim, Finding, Line, Plot, Reproduction, Sheet

PLOTS = (
    Plot(
        "Dots",
        "c",
        "x",
        "y",
        (Line("a", (1.0, 2.0), (3.0, math.nan), (2.0, 1.0), (4.0, 5.0), "dots"),),
        y_log=True,
    ),
    Plot("Steps", "c", "x", "y", (Line("a", (25.0, 50.0), (1.0, 2.0)), Line("b", (25.0, 50.0), (0.0, 0.0)))),
    Plot(
        "Bound",
        "c",
        "x",
        "y",
        (Line("a", (1.0,), (1.0,), look="bound"), Line("b", (1.0,), (2.0,))),
        x_log=True,
    ),
    Plot(
        "Many",
        "c",
        "x",
        "y",
        tuple(Line(f"line {k}", (1.0, 9.0), (1.0, 9.0)) for k in range(12)),
        steps=True,
        x_log=True,
    ),
)
FOUND = Reproduction(
    "paper",
    "A & B: On <stragglers>",
    "tailcut reproduce paper",
    "quick",
    (
        Finding(
            "one",
            "First <question>",
            "Run with `bayes`.",
            (
                Claim("It is so.", True, "1.0 (0.9–1.1) s", "A & B"),
                Claim("It is <not> so.", False, "x → y", "question 4"),
            ),
            (Sheet("Table", ("name", "value"), (("a<b", "1"), ("c", "2"))),),
            PLOTS,
        ),
        Finding("two", "Second", "s", (Claim("Third.", True, "z", "tailcut"),)),
    ),
)


class Checked(HTMLParser):
    """Every tag closed in turn, nothing fetched."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not [value for key, value in attrs if key in {"src", "action"} and value]
        if tag not in {"meta"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_tells_every_claim_with_its_verdict_and_figure(tmp_path: Path) -> None:
    write_reproduction_page(FOUND, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    text = Checked(page).text
    for _, claim in FOUND.claims:
        assert claim.text in text
        assert f"{claim.figure} ({claim.whose})" in text
    assert page.count('<dt class="holds">holds</dt>') == 2
    assert page.count('<dt class="fails">does not hold here</dt>') == 1
    assert "2 of 3 claims hold here." in text
    assert "1 of 2 claims holds here." in text
    assert page.count("<svg") == len(PLOTS)
    assert '<th scope="row">a&lt;b</th><td>1</td>' in page
    assert "http:" not in page.replace("http://www.w3.org", "")


def test_the_same_findings_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.html", "b.html"):
        write_reproduction_page(FOUND, tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_a_page_that_cannot_be_written_is_said_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        write_reproduction_page(FOUND, tmp_path / "nowhere" / "page.html")


@pytest.mark.parametrize("width", [60, 160])
def test_the_terminal_tells_every_claim(width: int) -> None:
    console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    console.print(claims_table(FOUND))
    console.file.close()
    told = " ".join(console.export_text().split())
    assert "A & B: On <stragglers>" in told
    assert "does not hold here It is <not> so. [question 4] x → y" in told
    assert told.endswith("2 of 3 claims hold here.")


def test_json_is_finite_and_whole() -> None:
    told = json.loads(json.dumps(reproduction_json(FOUND), allow_nan=False))
    assert (told["claims"], told["hold"], told["level"]) == (3, 2, "quick")
    assert told["findings"][0]["plots"][0]["lines"][0]["y"] == [3.0, None]
    assert [claim["verdict"] for claim in told["findings"][0]["claims"]] == ["holds", "does not hold here"]
