"""Output for people: tables, lists and the page."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tailcut.clusters.presets import PRESETS
from tailcut.policy_names import POLICIES
from tailcut.study.compare import BOUNDS

Cli: TypeAlias = Callable[..., Any]

SMALL = ("--rounds", "20", "--seeds", "1")


def test_every_policy_is_listed_with_a_line(cli: Cli) -> None:
    ended = cli("policies")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == list(POLICIES)
    assert all(named.about in line for named, line in zip(POLICIES.values(), lines, strict=False))
    assert all(bound in lines[-1] for bound in BOUNDS)


def test_every_cluster_is_listed_with_a_line(cli: Cli) -> None:
    ended = cli("clusters")
    assert (ended.code, ended.err) == (0, "")
    *lines, last = ended.out.splitlines()
    assert [line.split()[0] for line in lines] == list(PRESETS)
    assert "states=clock" in last
    assert all(preset.about in ended.out for preset in PRESETS.values())


def test_a_comparison_shows_every_source_policy_and_bound(cli: Cli) -> None:
    ended = cli("compare", "demo8", "trap10:slower=2", *SMALL, "--policies", "wait-all,backup:b=3")
    assert (ended.code, ended.err) == (0, "")
    first, second = ended.out.split("trap10:slower=2  ")
    assert "8 workers, 20 rounds (first 2 left out)" in first
    assert "10 workers, 20 rounds (first 2 left out)" in second
    assert "here with slower=2" in second
    for name in ("wait-all", "backup:b=3", *BOUNDS):
        assert f"\n{name} " in first
        assert f"\n{name} " in second


def test_without_policies_all_usual_ones_take_part(cli: Cli) -> None:
    ended = cli("compare", "demo8", *SMALL)
    assert ended.code == 0
    shown = {name for name in POLICIES if f"\n{name} " in ended.out}
    assert shown == {name for name, named in POLICIES.items() if named.usual}


def test_a_page_is_written_and_said_where(folder: Path, cli: Cli) -> None:
    (folder / "page.html").write_text("old page")
    ended = cli("compare", "demo8", *SMALL, "--policies", "wait-all", "--report", "page.html")
    assert ended.code == 0
    assert ended.out.endswith(f"Page: {folder / 'page.html'}\n")
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "demo8" in page
    assert [path.name for path in folder.iterdir()] == ["page.html"]


def test_without_matplotlib_a_page_is_refused_before_the_work(
    folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [name for name in sys.modules if name.startswith("tailcut.report.draw")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("tailcut.cli.compare_command.compare", _never)
    ended = cli("compare", "demo8", *SMALL, "--report", "page.html")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == (
        'tailcut: Drawing the page needs matplotlib, which is not installed: pip install "tailcut[report]".\n'
    )
    assert not list(folder.iterdir())


def _never(*arguments: object, **options: object) -> None:
    raise AssertionError(f"work was done: {arguments}")


def test_too_little_memory_is_told_in_a_sentence(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def greedy(*arguments: object, **options: object) -> None:
        raise MemoryError

    monkeypatch.setattr("tailcut.cli.compare_command.compare", greedy)
    ended = cli("compare", "demo8", *SMALL)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "tailcut: There is not enough memory. Take fewer rounds or workers.\n"


def test_an_interrupt_before_anything_was_finished_says_so(
    folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def impatient(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tailcut.cli.compare_command.compare", impatient)
    ended = cli("compare", "demo8", *SMALL, "--report", "page.html")
    assert (ended.code, ended.out) == (130, "")
    assert ended.err == "tailcut: Interrupted after 0 of 1 sources; what was finished is shown.\n"
    assert not list(folder.iterdir())
    assert cli("compare", "demo8", *SMALL, "--json").out == "[]\n"
