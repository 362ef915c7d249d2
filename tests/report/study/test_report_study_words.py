"""Sentences, tables, JSON and Markdown of a study."""

from __future__ import annotations

import io
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console
from tests.study.grid.study_journals import HEAD, INF, points, trained, write, write_arm, write_study

from tailcut.report.study import case_table, study_json, study_markdown
from tailcut.report.study.columns import COLUMNS, columns
from tailcut.report.study.formats import duration, goal, policy, size, span, time_to_target
from tailcut.report.study.plots.curves import between_plot, figure_plot
from tailcut.report.study.ranking import ranked, winner
from tailcut.report.study.words import comparison, headline, setting
from tailcut.study.grid.collect import collect
from tailcut.study.grid.facts import CaseFacts, StudyFacts
from tailcut.study.grid.summary import study_facts
from tailcut.study.statistics import Interval


def facts(folder: Path) -> StudyFacts:
    return study_facts(collect(folder))


def case_of(folder: Path) -> CaseFacts:
    (case,) = facts(folder).cases
    return case


def printed(case: CaseFacts, width: int = 240, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    Console(file=file, width=width, legacy_windows=False).print(case_table(case))
    return raw.getvalue().decode(encoding)


def test_the_headline_names_the_winner_and_what_it_saves(tmp_path: Path) -> None:
    case = case_of(write_study(tmp_path))
    # 0.5 × (50, 60, 70) and 4 × (50, 60, 70).
    wanted = "`best static gain` reaches 96 % accuracy in 30.0 s, `wait-all` in 240 s: 8.00 × sooner."
    assert headline(case) == wanted
    assert [each.arm for each in ranked(case)] == [
        "best static gain",
        "bayes gain",
        "bayes",
        "best static",
        "wait-all",
    ]


def test_headlines_where_there_is_no_plain_ratio(tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    write_arm(alone, "bayes", [10.0, 12.0])
    assert headline(case_of(alone)) == "`bayes` reaches 96 % accuracy in 11.0 s."
    without = tmp_path / "without"
    write_arm(without, "bayes", [10.0, 12.0])
    write_arm(without, "dbw", [20.0, 22.0])
    assert headline(case_of(without)).endswith("in 11.0 s; next is `dbw` in 21.0 s.")
    slow = tmp_path / "slow"
    write_arm(slow, "bayes", [10.0, 12.0])
    write_arm(slow, "wait-all", [90.0, INF])
    assert headline(case_of(slow)).endswith("in 11.0 s; `wait-all` reaches it in 1 of 2 runs.")
    plain = tmp_path / "plain"
    write_arm(plain, "bayes", [10.0, INF])
    write_arm(plain, "wait-all", [9.0, 9.0])
    assert "before all others; no other arm does so in all its runs (`bayes`: 1 of 2)." in headline(
        case_of(plain)
    )


def test_headlines_where_nobody_wins(tmp_path: Path) -> None:
    some, none, wild = (tmp_path / name for name in ("some", "none", "wild"))
    write_arm(some, "bayes", [10.0, INF])
    assert headline(case_of(some)) == "No arm reached 96 % accuracy in all its runs; `bayes` did in 1 of 2."
    write_arm(none, "bayes", [INF, INF])
    assert headline(case_of(none)) == "No run reached 96 % accuracy."
    write(wild, HEAD, [], trained(1.0, [], ending="diverged"))
    assert headline(case_of(wild)) == "Every run diverged on the way to 96 % accuracy."
    assert all(winner(case_of(folder)) is None for folder in (some, none, wild))


def test_who_reached_it_more_often_stands_higher_and_who_diverged_last(tmp_path: Path) -> None:
    write_arm(tmp_path, "a", [INF, INF])
    write_arm(tmp_path, "b", [90.0, INF])
    write_arm(tmp_path, "c", [99.0, 99.0])
    for seed in range(2):
        write(tmp_path, replace(HEAD, arm="0", seed=seed), [], trained(1.0, [], ending="diverged"))
    assert [each.arm for each in ranked(case_of(tmp_path))] == ["c", "b", "a", "0"]


def test_verdicts_in_words(tmp_path: Path) -> None:
    said = comparison(case_of(write_study(tmp_path)))
    assert said.startswith(
        "Sooner than the best static arm: `bayes`. Worse by more than 3 %: `bayes gain`, `wait-all`."
    )
    (tmp_path / "study.toml").unlink()
    assert comparison(case_of(tmp_path)) == ""


def test_the_setting_in_one_line(tmp_path: Path) -> None:
    case = case_of(write_study(tmp_path))
    assert setting(case) == (
        "4 workers, 8 samples each, 100 parameters, 3 seeds, target: 96 % accuracy, late workers stop at once"
    )
    other = replace(case.setting, late="finish", overhead=0.05, requeue=True, figure="loss", value=0.35)
    assert setting(replace(case, setting=other)).endswith(
        "target: a loss of 0.35, late workers finish, 50.0 ms overhead a round, dropped mini-batches are done again"
    )
    assert goal(replace(case.setting, value=0.985)) == "98.5 % accuracy"


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.0, "0 s"), (0.05, "50.0 ms"), (1.0, "1.00 s"), (98765.4, "98765 s"), (INF, "∞"), (math.nan, "–")],
)
def test_durations(value: float, said: str) -> None:
    assert duration(value) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0, "0"),
        (12, "12 B"),
        (999, "999 B"),
        (1e3, "1.00 kB"),
        (25e6, "25.0 MB"),
        (3e13, "30.0 TB"),
        (math.nan, "–"),
    ],
)
def test_sizes(value: float, said: str) -> None:
    assert size(value) == said


def test_intervals_as_text() -> None:
    assert span(Interval(math.nan, math.nan)) == "–"
    assert span(Interval(INF, INF), " s") == "∞"


def test_what_can_be_said_of_the_time_to_target(tmp_path: Path) -> None:
    write_arm(tmp_path, "bayes", [40.0, INF])
    (found,) = case_of(tmp_path).arms
    assert time_to_target(found) == "≥ 70.0 s"
    assert time_to_target(replace(found, reached=2, time=replace(found.time, mean=41.25))) == "41.2 s"
    assert time_to_target(replace(found, diverged=1, time=replace(found.time, at_least=INF))) == "∞"
    assert time_to_target(replace(found, reached=0, diverged=2)) == "diverged"


def test_a_models_file_is_told_without_its_folder(tmp_path: Path) -> None:
    write_arm(tmp_path, "bdsgd", [40.0], policy="bdsgd:model=/home/me/models/x.safetensors:window=5")
    (found,) = case_of(tmp_path).arms
    assert policy(found) == "bdsgd:model=x.safetensors:window=5"


def test_json_holds_all_facts_of_every_arm(tmp_path: Path) -> None:
    folder = write_study(tmp_path)
    write(folder, replace(HEAD, seed=9), points(5.0), None)
    rows = study_json(facts(folder))
    text = json.dumps(rows, allow_nan=False)
    assert json.loads(text) == rows
    assert [row["arm"] for row in rows] == [
        "wait-all",
        "best static",
        "best static gain",
        "bayes",
        "bayes gain",
    ]
    bayes = rows[3]
    wanted = {
        "study": "small",
        "task": "digits",
        "cluster": "demo8",
        "workers": 4,
        "figure": "accuracy",
        "value": 0.96,
        "policies": ["bayes"],
        "rates": [0.1],
        "seeds": [0, 1, 2],
        "reached": 3,
        "seconds": 48.0,
        "seconds_by_seed": [40.0, 48.0, 56.0],
        "ended_by_seed": [40.0, 48.0, 56.0],
        "reference": "best static",
        "verdict": "sooner",
        "ratio_seeds": [0, 1, 2],
        "undecided": 0,
        "updates": 50.0,
        "mean_cutoff": 3.0,
        "bytes_sent": 64000.0,
        "bytes_in_vain": 4000.0,
        "gradients_dropped": 40.0,
    }
    assert {key: bayes[key] for key in wanted} == wanted
    # Of 40, 48 and 56 s: 4.303 standard errors of 8 / √3 s around 48 s.
    assert (bayes["seconds_low"], bayes["seconds_high"]) == pytest.approx((28.13, 67.87), abs=0.01)
    assert (bayes["test"], bayes["p_sooner"], bayes["p_worse"]) == ("t", 0.0, 1.0)
    assert bayes["ratio"] == pytest.approx(0.8)
    assert rows[1]["verdict"] is None
    assert rows[1].keys() == bayes.keys()
    assert any("not finished" in note for note in bayes["notes"])


def test_what_is_infinite_is_null(tmp_path: Path) -> None:
    write_arm(tmp_path, "bayes", [40.0, INF])
    (row,) = study_json(facts(tmp_path))
    assert row["seconds"] is row["seconds_high"] is row["seconds_worst"] is None
    assert (row["seconds_at_least"], row["seconds_by_seed"]) == (70.0, [40.0, None])
    json.dumps(row, allow_nan=False)


def test_the_terminal_shows_all_columns_where_there_is_room(tmp_path: Path) -> None:
    case = case_of(write_study(tmp_path))
    text = printed(case)
    for part in (
        "0.800 (0.800–0.800)",
        "sooner",
        "3.0/4",
        "25 %",
        "64.0 kB",
        "0.53",
        "0.1 gain",
        "backup:c=4",
    ):
        assert part in text
    assert "8.00 × sooner." in text
    assert "Left out" not in text


def test_a_narrow_terminal_leaves_columns_out_and_says_so(tmp_path: Path) -> None:
    text = printed(case_of(write_study(tmp_path)), width=60)
    assert "Left out for want of room:" in text
    assert "30.0 s" in text
    assert max(map(len, text.splitlines())) <= 60


def test_a_terminal_of_ascii_gets_ascii(tmp_path: Path) -> None:
    write_arm(tmp_path, "bayes", [40.0, INF])
    text = printed(case_of(tmp_path), encoding="ascii")
    assert ">= 70.0 s" in text
    assert "40.0-inf s" in text
    assert "\\u" not in text


def test_columns_without_anything_to_say_are_not_there(tmp_path: Path) -> None:
    write_arm(tmp_path, "bayes", [40.0])
    titles = {column.title for column in columns(case_of(tmp_path))}
    assert not titles & {"verdict", "over best static", "95 % interval", "best–worst", "policy"}
    assert {"arm", "time to target", "reached", "staleness"} <= titles


def test_markdown_is_one_table_with_the_winner_in_bold(tmp_path: Path) -> None:
    folder = write_study(tmp_path)
    write_arm(folder, "bayes", [5.0, 6.0], cluster="a|b")
    lines = study_markdown(facts(folder)).splitlines()
    assert lines[0].startswith("- digits on demo8: `best static gain` reaches 96 % accuracy")
    table = [line for line in lines if line.startswith("|")]
    heads = [cell.strip() for cell in table[0].strip("|").split("|")]
    assert heads[:4] == ["task", "cluster", "arm", "time to target"]
    assert "verdict" in heads
    assert len(table) == 2 + 5 + 1
    assert table[2].startswith("| digits | demo8 | **best static gain** | **30.0 s** |")
    assert table[-1].startswith(r"| digits | a\|b | **bayes** | **5.50 s** |")
    assert all(line.replace(r"\|", "").count("|") == table[0].count("|") for line in table)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(line=st.integers(0, 6), place=st.floats(0, 1), junk=st.text("0123456789e.-]", min_size=1, max_size=4))
def test_whatever_numbers_a_journal_holds_they_are_told_or_refused(
    tmp_path: Path, line: int, place: float, junk: str
) -> None:
    seen = points(50.0)
    write(tmp_path, replace(HEAD, seed=1), seen, trained(50.0, seen))
    path = write(tmp_path, HEAD, seen, trained(50.0, seen))
    lines = path.read_text().splitlines()
    digits = [at for at, letter in enumerate(lines[line]) if letter.isdigit()]
    at = digits[int(place * (len(digits) - 1))]
    lines[line] = lines[line][:at] + junk + lines[line][at + 1 :]
    path.write_text("\n".join(lines) + "\n")
    found = facts(tmp_path)
    json.dumps(study_json(found), allow_nan=False)
    for case in found.cases:
        assert printed(case)
        for along in ("seconds", "updates"):
            figure_plot(case, "figure", along)
        for what in ("cutoff", "rate", "noise"):
            between_plot(case, what)


def test_every_column_has_a_meaning() -> None:
    assert all(column.meaning.endswith(".") and column.title for column in COLUMNS)
    assert len({column.title for column in COLUMNS}) == len(COLUMNS)
