"""The pages of the project and what is in them: code blocks, links, and what stands in back-ticks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

_BLOCK = re.compile(
    r"^(?:<!-- file: (?P<file>\S+) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S
)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file it stands for if a comment above names one, and its text."""

    place: str
    language: str
    file: str | None
    text: str


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(f"{name_of(page)}:{text[: m.start()].count(chr(10)) + 1}", m["language"], m["file"], m["text"])
        for m in _BLOCK.finditer(text)
    ]


def prose(page: Path) -> str:
    """The page without its blocks, fenced or indented."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    return "\n".join(line for line in text.splitlines() if not line.startswith("    "))


def links(page: Path) -> list[str]:
    return _LINK.findall(prose(page))


def quoted(page: Path) -> list[str]:
    """All that stands in back-ticks."""
    return _CODE.findall(prose(page))


def anchors(page: Path) -> set[str]:
    """Return the anchors of the page's headings, as links use them."""
    found = set()
    for heading in re.findall(r"^#+ (.+)$", _BLOCK.sub("", page.read_text(encoding="utf-8")), re.M):
        plain = re.sub(r"[^\w\- ]", "", heading.lower())
        found.add(plain.replace(" ", "-"))
    return found


def table_after(page: Path, heading: str) -> list[str]:
    """The rows of the tables in a section."""
    section = prose(page).partition(heading)[2]
    return [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("|")]
