"""The checker on journals made by hand: a sound one, and one for every way in which a run can go wrong."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailcut.testing import chaos
from tailcut.testing.chaos import job
from tailcut.testing.chaos.checker import Verdict, check
from tailcut.testing.chaos.journals import Tail, lives
from tailcut.testing.chaos.recovery import Struck, mixed_completions, recoveries
from tailcut.testing.chaos.replay import Setting, replayed

WORKERS, VERSIONS = 3, 6
SETTING = Setting(seed=5, size=40, optimiser="momentum", workers=WORKERS)
Journals = dict[tuple[int, int], list[dict[str, Any]]]


def chain(version: int, branch: str = "") -> str:
    return f"{version:08x}{branch}"


def accepted_in(version: int) -> list[int]:
    """Return all workers; every third version, without worker 1."""
    return [0, 2] if version % 3 == 0 else [0, 1, 2]


def update(version: int, at: float, branch: str = "") -> dict[str, Any]:
    return {
        "what": "applied",
        "at": at,
        "version": version,
        "chain": chain(version, branch),
        "accepted": accepted_in(version),
        "digest": f"numbers {version}{branch}",
    }


def note(what: str, version: int, at: float) -> dict[str, Any]:
    return {"what": what, "version": version, "at": at}


def turn(worker: int, version: int) -> list[dict[str, Any]]:
    """Return the lines from one version to the next."""
    at = float(version)
    lines = [note("submitting", version, at + 0.1)]
    if worker in accepted_in(version + 1):
        return [
            *lines,
            note("reducing", version, at + 0.2),
            note("reduced", version, at + 0.3),
            update(version + 1, at + 0.4),
        ]
    return [*lines, note("pulling", version, at + 0.4), update(version + 1, at + 0.5)]


def begin(worker: int) -> list[dict[str, Any]]:
    settings = {"seed": 5, "size": 40, "optimiser": "momentum", "workers": WORKERS}
    started = {"what": "started", "at": -1.0, "worker": worker, "pid": 100 + worker, "settings": settings}
    return [started, note("entering", 0, -0.5), {**note("begun", 0, -0.4), "digest": "numbers 0"}]


def sound() -> Journals:
    """Three workers, nothing happens; worker 1 is late twice."""
    journals: Journals = {}
    for worker in range(WORKERS):
        lines = [*begin(worker), *(line for version in range(VERSIONS) for line in turn(worker, version))]
        ended = {**note("ended", VERSIONS, 7.0), "digest": f"numbers {VERSIONS}", "final": "final"}
        journals[worker, 0] = [*lines, ended]
    return journals


def died(journals: Journals, worker: int, version: int) -> Journals:
    """A worker dies after it came to a version, and is back with a copy of the state after the next one."""
    lines = journals[worker, 0]
    cut = next(n for n, line in enumerate(lines) if line["what"] == "applied" and line["version"] == version)
    journals[worker, 0] = lines[: cut + 1]
    later = [line for line in lines[cut + 1 :] if line["version"] > version + 1 or line["what"] == "ended"]
    start = {**begin(worker)[0], "at": version + 0.5, "pid": 200 + worker}
    copied = {**note("copied", version + 1, version + 0.7), "digest": f"numbers {version + 1}"}
    joins = [
        note("entering", version + 1, version + 0.6),
        note("copying", version + 1, version + 0.6),
        copied,
    ]
    again = [start, *joins, {**copied, "what": "begun"}, note("submitting", version + 1, version + 1.1)]
    journals[worker, 1] = [*again, *later]
    for each in journals.values():
        for line in each:
            if line["what"] == "applied" and line["version"] == version + 1:
                line["accepted"] = [other for other in line["accepted"] if other != worker]
    return journals


def verdict(journals: Journals, folder: Path, updates: list[list[int]] | None = None) -> Verdict:
    folder.mkdir(exist_ok=True)
    made: dict[int, list[int]] = {}
    for (worker, life), lines in journals.items():
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{worker}-{life}.jsonl").write_text(text)
        for line in lines:
            if line["what"] == "applied" and line["chain"] == chain(line["version"]):
                made.setdefault(line["version"], line["accepted"])
    course = [made.get(version, [0]) for version in range(1, VERSIONS + 1)] if updates is None else updates
    replayed(SETTING, course).astype(np.float32).tofile(folder / "final")
    return check(folder)


def test_a_sound_run_has_no_violation(tmp_path: Path) -> None:
    found = verdict(sound(), tmp_path)
    assert found.violations == ()
    assert (found.versions, found.lives, found.abandoned) == (VERSIONS, WORKERS, 0)


@given(st.integers(0, WORKERS - 1), st.integers(1, VERSIONS - 2))
def test_a_death_and_a_copy_of_the_state_are_none(tmp_path_factory: Any, worker: int, version: int) -> None:
    found = verdict(died(sound(), worker, version), tmp_path_factory.mktemp("death"))
    assert found.violations == ()


def test_an_update_that_only_the_dead_had_is_excused(tmp_path: Path) -> None:
    journals = died(sound(), 1, 2)
    journals[1, 0].append(update(3, 2.35, "dead"))
    found = verdict(journals, tmp_path)
    assert found.violations == ()
    assert found.abandoned == 1


def resumed(journals: Journals, worker: int) -> list[dict[str, Any]]:
    """Return the journal of a second life, which begins ten seconds later at version 2."""
    later = [{**line, "at": line["at"] + 10} for line in journals[worker, 0] if not 0 <= line["at"] < 2.0]
    for line in later:
        if line["what"] in ("entering", "begun"):
            line.update({"version": 2} | ({"digest": "numbers 2"} if "digest" in line else {}))
    return later


def test_a_run_that_is_killed_as_a_whole_loses_updates(tmp_path: Path) -> None:
    """Let all workers enter another epoch with an update and be killed; then the update is made again."""
    journals = sound()
    for worker in range(WORKERS):
        first = [line for line in journals[worker, 0] if line["at"] < 2.0]
        lost = [note("submitting", 2, 2.1), update(3, 2.2, "lost"), note("entering", 3, 2.3)]
        later = resumed(journals, worker)
        journals[worker, 0] = [*first, *lost, note("submitting", 3, 2.4)]
        journals[worker, 1] = later
    found = verdict(journals, tmp_path)
    assert found.violations == ()
    assert found.abandoned == 1
    # With one of the others it was made otherwise, meanwhile.
    at = next(
        n for n, line in enumerate(journals[0, 0]) if line["what"] == "applied" and line["version"] == 3
    )
    journals[0, 0][at]["chain"] = chain(3, "other")
    again = tmp_path / "again"
    again.mkdir()
    assert any("into another epoch" in violation for violation in verdict(journals, again).violations)


@pytest.mark.parametrize(("digest", "is_sound"), [("numbers 3lost", True), ("rubbish", False)])
def test_a_copy_of_a_version_that_is_lost_later_had_its_numbers(
    tmp_path: Path, digest: str, is_sound: bool
) -> None:
    """Worker 1 copies version 3; then all are killed, and it is made anew with other numbers."""
    journals = sound()
    for worker in range(WORKERS):
        first = [line for line in journals[worker, 0] if line["at"] < 2.0]
        lost = [note("submitting", 2, 2.1), update(3, 2.2, "lost"), note("submitting", 3, 2.4)]
        later = resumed(journals, worker)
        journals[worker, 0] = [*first, *(lost if worker != 1 else [])]
        journals[worker, 1] = later
    start = {**begin(1)[0], "at": 2.25, "pid": 300}
    copied = {**note("copied", 3, 2.35), "digest": digest}
    journals[1, 2] = journals[1, 1]
    journals[1, 1] = [
        start,
        note("entering", 3, 2.3),
        note("copying", 3, 2.3),
        copied,
        note("submitting", 3, 2.4),
    ]
    found = verdict(journals, tmp_path)
    assert (found.violations == ()) == is_sound, found.violations


def test_one_that_was_silent_and_copied_the_state_of_the_others_is_excused(tmp_path: Path) -> None:
    journals = sound()
    frozen = [line for line in journals[1, 0] if line["at"] < 2.35 or line["at"] > 4.6]
    woken = [
        update(3, 4.2, "frozen"),
        note("entering", 5, 4.3),
        note("copying", 5, 4.3),
        {**note("copied", 5, 4.4), "digest": "numbers 5"},
    ]
    at = next(n for n, line in enumerate(frozen) if line["at"] > 4.6)
    journals[1, 0] = [*frozen[:at], *woken, *frozen[at:]]
    # It had no part in what was made meanwhile.
    for lines in journals.values():
        for line in lines:
            if line["what"] == "applied" and line["version"] in (4, 5):
                line["accepted"] = [0, 2]
    assert verdict(journals, tmp_path).violations == ()


def lines_of(journals: Journals, worker: int, what: str, version: int) -> list[int]:
    return [
        n for n, line in enumerate(journals[worker, 0]) if line["what"] == what and line["version"] == version
    ]


def skipped(journals: Journals) -> None:
    del journals[2, 0][lines_of(journals, 2, "applied", 4)[0]]


def doubled(journals: Journals) -> None:
    at = lines_of(journals, 2, "applied", 4)[0]
    journals[2, 0].insert(at, deepcopy(journals[2, 0][at]))


def forked(journals: Journals) -> None:
    for line in journals[2, 0]:
        if line["what"] == "applied" and line["version"] >= 4:
            line["chain"] = chain(line["version"], "fork")


def forked_and_died(journals: Journals) -> None:
    """Let worker 1 enter the next epoch with its own update, and die there."""
    died(journals, 1, 2)
    journals[1, 0] += [update(3, 2.35, "fork"), note("entering", 3, 2.5), note("submitting", 3, 2.6)]


def thrown_away(journals: Journals) -> None:
    """Let worker 1 discard an update, and the others make it again although worker 1 had it."""
    at = lines_of(journals, 1, "applied", 3)[0]
    own = [
        update(3, 2.35, "lost"),
        note("entering", 2, 2.38),
        note("copying", 2, 2.38),
        {**note("copied", 2, 2.39), "digest": "numbers 2"},
    ]
    journals[1, 0][at:at] = own


def other_numbers(journals: Journals) -> None:
    journals[0, 0][lines_of(journals, 0, "applied", 3)[0]]["digest"] = "rubbish"


def other_members(journals: Journals) -> None:
    journals[0, 0][lines_of(journals, 0, "applied", 4)[0]]["accepted"] = [0, 1]


def unfaithful(journals: Journals) -> None:
    at = lines_of(journals, 0, "reduced", 3)[0]
    journals[0, 0].insert(at, note("stopped", 3, 3.25))


def unsubmitted(journals: Journals) -> None:
    del journals[2, 0][lines_of(journals, 2, "submitting", 2)[0]]


def submitted_afterwards(journals: Journals) -> None:
    journals[2, 0][lines_of(journals, 2, "submitting", 2)[0]]["at"] = 2.9


def short(journals: Journals) -> None:
    ended = {**note("ended", VERSIONS - 1, 7.0), "digest": f"numbers {VERSIONS - 1}", "final": "final"}
    journals[1, 0] = [*(line for line in journals[1, 0] if line.get("version", 0) < VERSIONS), ended]


def bad_copy(journals: Journals) -> None:
    died(journals, 1, 2)
    for line in journals[1, 1]:
        if line["what"] in ("copied", "begun"):
            line["digest"] = "rubbish"


def failed(journals: Journals) -> None:
    journals[1, 0][-1] = {"what": "failed", "at": 6.9, "why": "RunError: something"}


def vanished(journals: Journals) -> None:
    journals[1, 0] = journals[1, 0][:-8]


def published_stray(journals: Journals) -> None:
    died(journals, 1, 2)
    journals[1, 0] += [update(3, 2.35, "dead"), note("published", 3, 2.36)]


def published_early(journals: Journals) -> None:
    at = lines_of(journals, 0, "applied", 3)[0]
    journals[0, 0].insert(at + 1, note("published", 3, 2.45))


WRONG: dict[str, Callable[[Journals], None]] = {
    "right after version 3": skipped,
    "applied version 4 again": doubled,
    "came to its end with it, alive": forked,
    "into another epoch": forked_and_died,
    "there all the time": thrown_away,
    "other numbers than others at version 3": other_numbers,
    "by the same chain": other_members,
    "had promised": unfaithful,
    "had not submitted any for it": unsubmitted,
    "which had not submitted": submitted_afterwards,
    "came to the end at versions": short,
    "with other numbers than that has": bad_copy,
    "it failed": failed,
    "did not come to the end": vanished,
    "which is not on the course": published_stray,
    "before workers [1] had come": published_early,
}


@pytest.mark.parametrize("words", WRONG)
def test_what_is_wrong_is_found(words: str, tmp_path: Path) -> None:
    journals = sound()
    WRONG[words](journals)
    found = verdict(journals, tmp_path).violations
    assert any(words in violation for violation in found), found


def test_nobody_at_the_end_is_found(tmp_path: Path) -> None:
    journals = {whose: lines[:-1] for whose, lines in sound().items()}
    assert "Nobody came to the end of the run." in verdict(journals, tmp_path).violations


@given(st.integers(0, VERSIONS - 1))
def test_a_gradient_lost_or_doubled_shows_in_the_numbers(tmp_path_factory: Any, version: int) -> None:
    updates = [accepted_in(version) for version in range(1, VERSIONS + 1)]
    updates[version] = [0, 0, 2] if version % 2 else [2]
    found = verdict(sound(), tmp_path_factory.mktemp("spoilt"), updates).violations
    assert any("lost, doubled or spoilt" in violation for violation in found)


@pytest.mark.parametrize("name", ["momentum", "adam"])
def test_a_replay_is_what_torch_makes_of_the_gradients_of_a_job(name: str) -> None:
    setting = Setting(seed=5, size=40, optimiser=name, workers=WORKERS)
    nets = [job.Numbers(40, 5, worker) for worker in range(WORKERS)]
    optimiser = job.optimiser_of(nets[0], name)
    updates = [[0, 2], [1], [0, 1, 2], [2, 1]] * 20
    for version, accepted in enumerate(updates):
        means = []
        for worker in accepted:
            nets[worker].make_gradient(version)
            means.append((nets[worker].samples(version), [part.grad for part in nets[worker].parts]))
        total = sum(samples for samples, _ in means)
        for place, part in enumerate(nets[0].parts):
            part.grad = sum(samples * grads[place] for samples, grads in means) / total
        optimiser.step()
    assert replayed(setting, updates) == pytest.approx(nets[0].numbers, abs=1e-5)


def test_a_torn_last_line_is_no_line(tmp_path: Path) -> None:
    journals = died(sound(), 1, 2)
    verdict(journals, tmp_path)
    with (tmp_path / "1-0.jsonl").open("a") as file:
        file.write('{"what": "appl')
    assert check(tmp_path).violations == ()
    tail = Tail(tmp_path)
    assert [line.what for line in tail.look()[1, 0]][-1] == "applied"
    assert not tail.look()


def test_mixed_completions_and_what_a_death_costs(tmp_path: Path) -> None:
    """Worker 1 dies in the reduction of version 3; worker 0 has completed it, worker 2 gets it from there."""
    journals = sound()
    at = lines_of(journals, 2, "reduced", 3)[0]
    journals[2, 0][at] = note("stopped", 3, 3.3)
    journals[2, 0].insert(at + 1, note("entering", 4, 3.35))
    verdict(journals, tmp_path)
    found = lives(tmp_path)
    assert list(mixed_completions(found)) == [3]
    struck = Struck(0, "between", 3.25, 1, (), 3, "kill")
    (cost,) = recoveries([life for life in found if life.worker != 1], [struck])
    assert cost.mixed
    assert cost.go_on == pytest.approx(4.4 - 3.25)
    assert cost.back is None


def test_the_checker_shares_no_code_with_the_engine() -> None:
    own = {f"{chaos.__name__}.{name}" for name in ("course", "journals", "replay")}
    for name in ("checker", "course", "journals", "replay", "recovery"):
        tree = ast.parse((Path(chaos.__file__).parent / f"{name}.py").read_text())
        found = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
        found |= {each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names}
        assert not {each for each in found if each.startswith("tailcut")} - own, name
