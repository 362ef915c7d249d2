"""Studies carried out: tuning, journals, breaking off and going on."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tailcut import names
from tailcut.engines.simulated.meter import Point
from tailcut.errors import InputError
from tailcut.study.grid import grid as grid_module
from tailcut.study.grid.budget import timed
from tailcut.study.grid.config import Arm, Study
from tailcut.study.grid.folder import Folder, Try, slug
from tailcut.study.grid.grid import Grid
from tailcut.study.grid.journal import Head, Writer, read_journal
from tailcut.study.grid.makers import Makers
from tailcut.study.grid.run import Result
from tailcut.study.grid.tuning import Choice, best

MAKERS = Makers(names.task, names.source, names.entrant)
STUDY = Study(
    name="small",
    tasks=("logistic",),
    clusters=("demo8",),
    arms=(
        Arm("wait-all", ("wait-all",)),
        Arm("static", ("backup:c=5", "backup:c=7")),
        Arm("gain", ("stopping:objective=gain",)),
        Arm("async", ("async",)),
    ),
    seeds=2,
    rounds=12,
    rates=(0.05, 0.5),
)


def carried_out(folder: Path, study: Study = STUDY) -> Grid:
    grid = Grid(study, MAKERS, Folder(folder), 1)
    grid.folder.claim("as it was given")
    grid.carry_out(lambda *_: None)
    return grid


def journals(folder: Path) -> dict[tuple[str, int], str]:
    found = {}
    for path in sorted(folder.glob("runs/**/*.jsonl")):
        head = read_journal(path).head
        found[head.arm, head.seed] = path.read_text()
    return found


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    carried_out(folder)
    return folder


def test_there_is_a_whole_journal_for_every_arm_and_seed(done: Path) -> None:
    found = journals(done)
    assert set(found) == {(arm.name, seed) for arm in STUDY.arms for seed in (0, 1)}
    for path in done.glob("runs/**/*.jsonl"):
        journal = read_journal(path)
        assert journal.end is not None
        assert journal.points
        assert journal.end.totals.accepted.sum() >= journal.end.totals.gradients


def test_every_arm_sees_the_same_first_weights_and_the_same_run_times(done: Path) -> None:
    first = {arm: read_journal(done / f"runs/logistic/demo8/{arm}/0.jsonl") for arm in ("wait-all", "static")}
    rows = np.sort(timed(names.source("demo8"), 0, STUDY.rounds).draw.table.seconds, axis=1)
    assert first["wait-all"].points[0].seconds == pytest.approx(rows[0, -1])
    waited = int(first["static"].head.policy[-1])
    assert first["static"].points[0].seconds == pytest.approx(rows[0, waited - 1])


def test_the_best_candidate_was_chosen_and_the_rest_is_told(done: Path) -> None:
    told = json.loads((done / "tuned.json").read_text())["logistic"]["demo8"]
    assert len(told["static"]["tried"]) == 4
    for arm in told.values():
        means = {
            (policy, rate): sum(math.inf if s is None else s for s in seconds)
            for policy, rate, seconds in arm["tried"]
        }
        least = min(means.values())
        assert math.isinf(least) or means[arm["policy"], arm["rate"]] == least


def test_a_study_that_is_there_is_not_done_again(done: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = journals(done)
    monkeypatch.setattr(grid_module, "run", lambda *_: pytest.fail("a run was repeated"))
    monkeypatch.setattr(grid_module, "try_rates", lambda *_: pytest.fail("a try was repeated"))
    carried_out(done)
    assert journals(done) == before


def test_lines_of_no_run_of_the_tuning_change_no_choice(done: Path) -> None:
    """Lines there twice, of a rate that was not asked for, of other types, or with times that cannot be."""
    tried, tuned = done / "tried.jsonl", done / "tuned.json"
    lines, before = tried.read_text().splitlines(), tuned.read_text()
    last = json.loads(lines[-1])
    changes = (
        {"rate": 1e3, "seconds": 1e-9},
        {"policy": -1e308},
        {"arm": ["static"]},
        {"seed": 7, "seconds": 1e-9},
    )
    more = [json.dumps({**last, **change}) for change in changes]
    tried.write_text("\n".join([*lines, *lines[-1:] * 9, *more]) + "\n")
    carried_out(done)
    assert tuned.read_text() == before
    # A time that cannot be is no result: that run is tried again, and the choice stays.
    tried.write_text("\n".join([*lines[:-1], json.dumps({**last, "seconds": -1.0})]) + "\n")
    carried_out(done)
    assert tuned.read_text() == before
    tried.write_text("\n".join(lines) + "\n")


def test_broken_off_and_damaged_runs_alone_are_repeated(done: Path) -> None:
    before = journals(done)
    cut = done / "runs/logistic/demo8/static/1.jsonl"
    cut.write_text("\n".join(cut.read_text().splitlines()[:-1]) + "\n")
    bad = done / "runs/logistic/demo8/async/0.jsonl"
    bad.write_text(bad.read_text().replace('"updates"', "updates", 1))
    kept = (done / "runs/logistic/demo8/gain/0.jsonl").stat().st_mtime_ns
    carried_out(done)
    assert journals(done) == before
    assert (done / "runs/logistic/demo8/gain/0.jsonl").stat().st_mtime_ns == kept


def test_what_tuning_has_tried_survives_a_break(
    done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All runs are done anew, elsewhere, and are those of a study without a break: a run depends on its head alone."""
    calls = []
    plain = grid_module.try_rates

    def breaking(*arguments):
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(arguments)
        return plain(*arguments)

    monkeypatch.setattr(grid_module, "try_rates", breaking)
    with pytest.raises(KeyboardInterrupt):
        carried_out(tmp_path / "one")
    assert len(Folder(tmp_path / "one").tried()) == 2 * len(STUDY.rates)
    monkeypatch.setattr(grid_module, "try_rates", plain)
    carried_out(tmp_path / "one")
    assert journals(tmp_path / "one") == journals(done)
    assert json.loads((tmp_path / "one/tuned.json").read_text()) == json.loads(
        (done / "tuned.json").read_text()
    )


def test_a_loss_that_becomes_no_number_ends_its_run_alone(tmp_path: Path) -> None:
    study = replace(
        STUDY, arms=(Arm("wild", ("wait-all",), "fixed", (1e30,)), Arm("calm", ("wait-all",))), seeds=1
    )
    carried_out(tmp_path / "out", study)
    wild = read_journal(tmp_path / "out/runs/logistic/demo8/wild/0.jsonl")
    calm = read_journal(tmp_path / "out/runs/logistic/demo8/calm/0.jsonl")
    assert wild.end is not None
    assert wild.end.ending == "diverged"
    assert calm.end is not None
    assert calm.end.ending != "diverged"


def test_a_folder_with_another_study_is_refused(tmp_path: Path) -> None:
    Folder(tmp_path / "out").claim("one")
    Folder(tmp_path / "out").claim("one")
    with pytest.raises(InputError, match="holds another study"):
        Folder(tmp_path / "out").claim("two")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(InputError, match="not empty"):
        Folder(tmp_path / "full").claim("one")


HEAD = Head("t", "c", "a", "p", "linear", 0.1, "sgd", 0, 8, 4, 10, "loss", 0.1, "most", "abandon", 0.0, False)
POINT = Point(1.5, 2, 3.0, {"loss": math.inf}, 0.5, 4.0, 0.1, 0.0, 0.2, None)


def test_a_journal_is_read_as_it_was_written(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "a/b.jsonl", HEAD)
    writer.point(POINT)
    writer.close()
    journal = read_journal(tmp_path / "a/b.jsonl")
    assert (journal.head, journal.points, journal.end) == (HEAD, (POINT,), None)


@pytest.mark.parametrize(
    ("line", "damage"),
    [
        (1, "{"),
        (2, "[]"),
        (2, '{"kind": "end"}'),
        (1, '{"kind": "point"}'),
        (2, '{"kind": "head"}'),
        (2, "\x00"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: int, damage: str) -> None:
    path = tmp_path / "j.jsonl"
    writer = Writer(path, HEAD)
    writer.point(POINT)
    writer.point(POINT)
    writer.close()
    lines = path.read_text().splitlines()
    lines[line - 1] = damage
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=f"Line {line} of .*j.jsonl is damaged"):
        read_journal(path)


def test_the_best_is_who_gets_there_most_often_then_soonest_then_closest() -> None:
    def tries(policy: str, *seconds: float, last: float = 0.5) -> list[Try]:
        ends = ["reached" if s < math.inf else "not reached" for s in seconds]
        results = [Result(0.1, end, s, last) for end, s in zip(ends, seconds, strict=True)]
        return [Try("t", "c", "a", policy, seed, result) for seed, result in enumerate(results)]

    never = math.inf
    assert best(tries("x", 1.0, never) + tries("y", 9.0, 9.0), "least") == Choice("y", 0.1)
    assert best(tries("x", 5.0, 6.0) + tries("y", 9.0, 1.0), "least") == Choice("y", 0.1)
    far_and_near = tries("x", never, last=0.4) + tries("y", never, last=0.6)
    assert best(far_and_near, "least") == Choice("y", 0.1)
    assert best(far_and_near, "most") == Choice("x", 0.1)
    assert best(tries("x", never, last=math.nan) + tries("y", never, last=0.0), "least") == Choice("y", 0.1)


def test_a_chosen_rate_at_the_edge_of_its_grid_is_warned_of(tmp_path: Path) -> None:
    study = replace(
        STUDY,
        arms=(
            Arm("low", ("wait-all",), rates=(0.5, 40.0)),
            Arm("high", ("wait-all",), rates=(1e-6, 0.5)),
            Arm("within", ("wait-all",), rates=(1e-6, 0.5, 40.0)),
            Arm("alone", ("wait-all",), rates=(1e-6,)),
        ),
        seeds=1,
    )
    said: list[str] = []
    Grid(study, MAKERS, Folder(tmp_path), 1).carry_out(lambda *_: None, said.append)
    (sentence,) = said
    assert sentence.startswith(
        "logistic on demo8: The learning rate that tuning chose is the lowest or highest"
    )
    assert "`low` 0.5 (lowest), `high` 0.5 (highest)." in sentence


def test_different_names_have_different_paths() -> None:
    names_ = ["a b", "a_b", "a/b", "a:b", "x" * 100, "x" * 101, "plain"]
    assert len({slug(name) for name in names_}) == len(names_)
    assert slug("plain") == "plain"
    assert all("/" not in slug(name) for name in names_)
