"""Every impossible argument is refused by one sentence with the value and a remedy, before any work is done."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

Cli: TypeAlias = Callable[..., Any]
Refused: TypeAlias = Callable[..., str]

SMALL = ("--rounds", "20", "--seeds", "1")
KNOWN = (
    "Known: adasync, async, backup, bandit, batch-sync, bayes, bdsgd, bounded-stale, dbw, deadline, drop-compute, "
    "elfving, empirical, regression, softsync, stale-sync, stopping, trend, wait-all."
)

POLICIES = {
    "nope": ["'nope'", KNOWN],
    "wait-al": ["'wait-al'", "Did you mean 'wait-all'?", KNOWN],
    "WAIT-ALL": ["'WAIT-ALL'", KNOWN],
    "stoping:skip=0": ["'stoping'", "Did you mean 'stopping'?"],
    "clairvoyant:b=1": ["'clairvoyant'", KNOWN],
    "\x1b[31mred": [r"'\x1b[31mred'", KNOWN],
    "backup:x=1": ["parameter of backup", "'x'", "Known: b, c, share"],
    "backup:shar=1": ["'shar'", "Did you mean 'share'?"],
    "wait-all:b=1": ["parameter of wait-all", "'b'", "Known: none"],
    "backup:b": ["'b'", "'backup:b'", "no value", "name:key=value"],
    "backup:b=": ["'b='", "no value"],
    "backup:": ["'backup:'", "no value"],
    "backup:=3": ["'=3'", "no value"],
    "backup:b=1:b=2": ["b is given twice", "'backup:b=1:b=2'", "Give it once"],
    "backup:b=x": ["b ", "a whole number", "'x'", "b=4"],
    "backup:b=1.5": ["a whole number", "'1.5'"],
    "backup:share=half": ["a number", "'half'", "share=0.5"],
    "backup:share=nan": ["a number", "'nan'"],
    "drop-compute:follow=maybe": ["true or false", "'maybe'", "follow=False"],
    "deadline:seconds=soon": ["a number", "'soon'", "seconds=1.0"],
    "trend:memory=long": ["a number", "'long'", "memory=80.0"],
    "backup:b=-1": ["b must be at least 0", "-1", "wait for all"],
    "backup:c=0": ["c must be at least 1", "0", "fastest"],
    "backup:share=0": ["share must be over 0", "0.0", "0.9"],
    "backup:share=2": ["share must be over 0 and at most 1", "2.0"],
    "backup:b=1:c=2": ["Exactly one of b, c and share", "b and c", "b=4"],
    "elfving:window=0": ["window must be at least 1", "0", "window=20"],
    "elfving:see=none": ["see must be", "'none'", "see=all"],
    "empirical:window=-2": ["window must be at least 1", "-2", "window=20"],
    "empirical:see=some": ["see must be", "'some'", "see=all"],
    "bandit:discount=0": ["discount must be over 0", "0.0", "0.99"],
    "bandit:discount=1.01": ["discount must be over 0 and at most 1", "1.01"],
    "drop-compute:micro=0": ["micro must be at least 1", "0", "8"],
    "drop-compute:window=0": ["window must be at least 1", "0", "50"],
    "trend:memory=1": ["memory must be over 1", "1.0", "Try 50"],
    "trend:floor=0": ["floor must be at least 1", "0", "Give 1"],
    "trend:fair=-3": ["fair must be 0 or more", "-3", "Give 0"],
    "stopping:skip=1.5": ["skip must be in [0, 1)", "1.5", "Use 0"],
    "stopping:skip=-0.1": ["skip must be in [0, 1)", "-0.1"],
    "stopping:memory=0": ["memory must be over 1", "0.0"],
    "stopping:floor=-4": ["floor must be at least 1", "-4"],
    "stopping:fair=-1": ["fair must be 0 or more", "-1"],
    "stopping:how=later": ["how must be 'wait' or 'stale'", "'later'"],
    "stopping:fair=3:how=later": ["how must be 'wait' or 'stale'", "'later'"],
    "deadline:seconds=0": ["seconds must be positive", "0.0"],
    "deadline:seconds=inf": ["seconds must be positive and finite", "inf"],
    "batch-sync:share=0": ["share must be over 0", "0.0", "0.9"],
    "stale-sync:share=2": ["share must be over 0 and at most 1", "2.0"],
    "softsync:k=0": ["k must be at least 1", "0", "k=4"],
    "": ["empty name", "''", "single commas"],
    "   ": ["empty name", "single commas"],
    ",": ["empty name", "','"],
    "wait-all,,backup": ["empty name", "'wait-all,,backup'"],
    "wait-all,": ["empty name", "'wait-all,'"],
}


@pytest.mark.parametrize("policies", POLICIES)
def test_an_impossible_policy_is_refused(policies: str, folder: Path, refused: Refused) -> None:
    (folder / "page.html").write_text("old page")
    sentence = refused("compare", "demo8", *SMALL, "--policies", policies, "--report", "page.html")
    assert all(part in sentence for part in POLICIES[policies]), sentence


SOURCES = {
    "nosuch": ["neither a file nor a cluster", "'nosuch'", "Known: cedar, demo8"],
    "demo": ["'demo'", "Did you mean 'demo8'?"],
    "": ["''", "Known: cedar, demo8"],
    "demo8:m=3": ["parameter of demo8", "'m'", "Known: factor, n, overhead, p_slow, sigma"],
    "niagara:delays=3": ["parameter of niagara", "'delays'", "Known: base, n, overhead, sigma"],
    "demo8:n": ["'n'", "'demo8:n'", "no value"],
    "demo8:n=2:n=3": ["n is given twice", "Give it once"],
    "demo8:n=two": ["a whole number", "'two'", "n=8"],
    "demo8:n=0": ["n must be", "0"],
    "demo8:n=1": ["demo8:n=1", "at least 2 workers", "n=2"],
    "persistent:n=1": ["at least 2 workers", "nobody to wait for"],
    "fail-and-return:n=1": ["n must be", "1", "give 2 or more"],
    "demo8:n=100000000000": ["100,000,000,000 workers", "at most 200,000,000", "Take fewer"],
    "demo8:sigma=0": ["sigma must be > 0", "0.0", "positive"],
    "demo8:p_slow=2": ["2.0"],
    "demo8:overhead=-1": ["overhead must be >= 0", "-1.0", "give 0 or more"],
    "trap10:slower=11": ["slower must be at most n = 10", "11", "raise n"],
    "drift:shape=square": ["one of sine, linear", "'square'", "shape=sine"],
    "sudden-change:share=nan": ["a number", "'nan'", "share=0.3"],
    "iid-pareto:alpha=1e-9": ["iid-pareto:alpha=1e-9", "inf", "Check their unit"],
    "iid-lognormal:sigma=1e6:n=8": ["iid-lognormal:sigma=1e6:n=8", "inf"],
}


@pytest.mark.parametrize("source", SOURCES)
def test_an_impossible_source_is_refused(source: str, folder: Path, refused: Refused) -> None:
    (folder / "page.html").write_text("old page")
    options = ("--policies", "wait-all", "--report", "page.html")
    sentence = refused("compare", source, *SMALL, *options)
    assert all(part in sentence for part in SOURCES[source]), sentence


OPTIONS = {
    ("--seeds", "0"): ["--seeds must be at least 1", "0", "--seeds 1"],
    ("--seeds", "-1"): ["--seeds must be at least 1", "-1"],
    ("--rounds", "1"): ["--rounds must be at least 2", "1", "--rounds 2"],
    ("--rounds", "0"): ["--rounds must be at least 2", "0"],
    ("--rounds", "-5"): ["--rounds must be at least 2", "-5"],
    ("--rounds", "1000000000000"): ["1,000,000,000,000 rounds", "at most 200,000,000", "Take fewer"],
    ("--late", "maybe"): ["--late must be abandon or finish", "'maybe'", "--late abandon"],
    ("--late", ""): ["--late must be abandon or finish", "''"],
    ("--overhead", "-1"): ["--overhead must be 0 or more", "-1.0", "--overhead 0"],
    ("--overhead", "nan"): ["--overhead must be 0 or more", "nan"],
    ("--overhead", "inf"): ["--overhead must be 0 or more", "inf"],
    ("--overhead", "1e308"): ["demo8", "inf", "the overhead"],
    ("--warmup", "-1"): ["--warmup must be at least 0", "-1", "--warmup 0"],
    ("--warmup", "20"): ["one of the 20 rounds", "20", "--warmup 0"],
    ("--warmup", "1000"): ["one of the 20 rounds", "1000"],
}


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_an_impossible_option_is_refused(options: tuple[str, ...], folder: Path, refused: Refused) -> None:
    (folder / "page.html").write_text("old page")
    usual = ("--policies", "wait-all", "--report", "page.html")
    sentence = refused("compare", "demo8", *SMALL, *options, *usual)
    assert all(part in sentence for part in OPTIONS[options]), sentence


REPORTS = {
    "no/page.html": ["no/page.html", "does not exist", "Create it first"],
    "file/page.html": ["file/page.html", "does not exist"],
    "here": ["here is a folder", "here/page.html"],
    "": ["is a folder", "page.html"],
    "x" * 300: ["x" * 300, "File name too long", "Name a file"],
}


@pytest.mark.parametrize("report", REPORTS, ids=lambda name: name[:20] or "nothing")
def test_a_report_that_cannot_be_written_is_refused_before_the_work(
    report: str, folder: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "here").mkdir()
    (folder / "file").write_text("no folder")
    monkeypatch.setattr("tailcut.cli.compare_command.compare", _never)
    sentence = refused("compare", "demo8", *SMALL, "--report", report)
    assert all(part in sentence for part in REPORTS[report]), sentence


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is where even root cannot write")
def test_a_folder_that_cannot_be_written_to_is_refused(
    refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tailcut.cli.compare_command.compare", _never)
    sentence = refused("compare", "demo8", *SMALL, "--report", "/proc/page.html")
    assert "/proc/page.html" in sentence
    assert "another folder" in sentence
    sentence = refused("table", "demo8", "-o", "/proc/table.csv")
    assert "/proc/table.csv" in sentence
    assert "you may write there" in sentence


def _never(*arguments: object) -> None:
    raise AssertionError(f"work was done: {arguments}")


OUTPUTS = {
    "t.txt": ["t.txt", "'.txt'", ".csv, .parquet, .jsonl, .ndjson, .npz"],
    "t": ["t: the ending", ".csv, .parquet, .jsonl, .ndjson, .npz"],
    "no/t.csv": ["no/t.csv", "cannot be written", "the folder exists"],
    "here.csv": ["here.csv", "cannot be written"],
    "file/t.npz": ["file/t.npz", "cannot be written"],
    "x" * 300 + ".csv": ["File name too long"],
}


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda name: name[:20])
def test_an_output_that_cannot_be_written_is_refused(output: str, folder: Path, refused: Refused) -> None:
    (folder / "here.csv").mkdir()
    (folder / "file").write_text("no folder")
    sentence = refused("table", "demo8", "--rounds", "20", "-o", output)
    assert all(part in sentence for part in OUTPUTS[output]), sentence


def test_impossible_rounds_and_seeds_of_a_table_are_refused(folder: Path, refused: Refused) -> None:
    (folder / "t.csv").write_text("old table")
    assert "--rounds must be at least 2, but got 1" in refused(
        "table", "demo8", "-o", "t.csv", "--rounds", "1"
    )
    assert "--seed must be at least 0, but got -1" in refused("table", "demo8", "-o", "t.csv", "--seed", "-1")
    assert "too many" in refused("table", "demo8", "-o", "t.csv", "--rounds", str(10**12))
    assert "at least 2 workers" in refused("table", "demo8:n=1", "-o", "t.csv")
    assert "'nope'" in refused("table", "nope", "-o", "t.csv")


USAGE: list[tuple[tuple[str, ...], str]] = [
    (("compare", "demo8", "--bogus"), "--bogus"),
    (("compare",), "SOURCE"),
    (("compare", "demo8", "--rounds", "many"), "--rounds"),
    (("compare", "demo8", "--overhead", "much"), "--overhead"),
    (("compare", "demo8", "--policies"), "--policies"),
    (("table", "demo8"), "--output"),
    (("table",), "SOURCE"),
    (("table", "demo8", "-o", "t.csv", "--seed", "1.5"), "--seed"),
    (("policies", "all"), "all"),
    (("nonsense",), "nonsense"),
    (("--nonsense",), "--nonsense"),
]


@pytest.mark.parametrize(("arguments", "named"), USAGE, ids=[" ".join(given) for given, _ in USAGE])
def test_wrong_usage_ends_with_code_2_and_a_hint(
    arguments: tuple[str, ...], named: str, folder: Path, cli: Cli
) -> None:
    ended = cli(*arguments)
    assert ended.code == 2
    assert ended.out == ""
    assert named in ended.err
    assert "Traceback" not in ended.err
    assert not list(folder.iterdir())


def test_without_arguments_the_help_is_shown(cli: Cli) -> None:
    ended = cli()
    assert ended.code in (0, 2)  # It depends on the version of typer.
    assert all(command in ended.out for command in ("compare", "policies", "clusters", "table"))
    assert cli("--help").code == cli("compare", "--help").code == 0


def test_a_source_that_fails_does_not_take_the_finished_ones_along(folder: Path, cli: Cli) -> None:
    row = "".join(f"{t},{w},1\n" for t in range(12) for w in "ab")
    (folder / "good.csv").write_text("round,worker,seconds\n" + row)
    (folder / "bad.csv").write_text("round,worker,seconds\n" + row + "12,a,1e30\n12,b,1\n")
    ended = cli("compare", "good.csv", "bad.csv", "--policies", "wait-all", "--report", "page.html")
    assert ended.code == 2
    assert "good.csv" in ended.out
    assert "bad.csv" not in ended.out
    assert ended.err.startswith("tailcut: ")
    assert "bad.csv" in ended.err
    assert "good.csv" in (folder / "page.html").read_text()
