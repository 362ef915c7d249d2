"""Studies as files tell them: what is read, and what is refused in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailcut import names
from tailcut.errors import InputError
from tailcut.study.grid.config import Arm, read_study
from tailcut.study.grid.folder import Folder
from tailcut.study.grid.grid import Grid
from tailcut.study.grid.makers import Makers
from tailcut.study.grid.setup import Place, Setup

MAKERS = Makers(names.task, names.source, names.entrant)
GOOD = """
tasks = ["digits"]
clusters = ["demo8"]
seeds = 2
rounds = 40
rates = [0.1, 1]
best_static = "static"

[[arms]]
policy = "wait-all"

[[arms]]
name = "static"
policies = ["backup:c=6", "backup:c=7"]
rate_rule = "sqrt"
rates = [0.5]
stale = "inverse"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "one.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_study_is_what_its_file_says(tmp_path: Path) -> None:
    study = read_study(written(tmp_path, GOOD))
    assert study.name == "one"
    assert study.tasks == ("digits",)
    assert study.rates == (0.1, 1.0)
    assert study.arms[0] == Arm("wait-all", ("wait-all",))
    assert study.arms[1] == Arm("static", ("backup:c=6", "backup:c=7"), "sqrt", (0.5,), "inverse")
    assert (study.optimiser, study.late, study.batch) == ("momentum", "abandon", None)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("seeds = 2", "seeds = 0", "seeds must be 1 or more, but got 0"),
        ("seeds = 2", "seeds = 2.5", "seeds of the study must be a whole number, but is 2.5"),
        ("seeds = 2", "seeds = true", "must be a whole number, but is True"),
        ("seeds = 2", "seeds = 10_000_000_000", "A study has at most 100,000 runs"),
        ("seeds = 2", "sedes = 2", "no setting 'sedes'. Known: "),
        ("rounds = 40", "rounds = 1", "rounds must be 2 or more"),
        ('tasks = ["digits"]', "", "lacks 'tasks'"),
        ('tasks = ["digits"]', "tasks = []", "at least one of its tasks"),
        ('tasks = ["digits"]', 'tasks = "digits"', "must be a list, but is 'digits'"),
        ('tasks = ["digits"]', "tasks = [1]", "each of tasks of the study must be a text, but is 1"),
        ("rates = [0.1, 1]", 'rates = ["fast"]', "must be a number, but is 'fast'"),
        ("rates = [0.1, 1]", 'late = "never"', "late must be 'abandon' or 'finish', but got 'never'"),
        ("rates = [0.1, 1]", "every = 0.0", "every must be positive"),
        ("rates = [0.1, 1]", "every = inf", "every must be positive and finite, but got inf"),
        ("rates = [0.1, 1]", "target = nan", "target must be a finite number, but got nan"),
        ("rates = [0.1, 1]", "rates = []", "rates must name at least one learning rate"),
        (
            'policy = "wait-all"',
            'policy = "wait-all"\nrates = []',
            "rates must name at least one learning rate",
        ),
        ("rates = [0.1, 1]", 'figure = "loss"', "needs a target"),
        ('policy = "wait-all"', "", "arm 1 names no policy"),
        ('policy = "wait-all"', 'policy = "wait-all"\ncolour = 3', "arm 1 has no setting 'colour'"),
        ('name = "static"', 'name = "wait-all"', "Two arms are called 'wait-all'"),
        (
            'best_static = "static"',
            'best_static = "statik"',
            "there is none of that name. Arms: wait-all, static",
        ),
        ("[[arms]]", "[[arms", "is no TOML"),
    ],
)
def test_what_a_study_cannot_mean_is_refused_in_a_sentence(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    path = written(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(InputError) as problem:
        read_study(path)
    assert said in str(problem.value)
    assert "one.toml" in str(problem.value)


@pytest.mark.parametrize("line", ["a" * 5000 + " = 1", f"late = '{'x' * 5000}'", f"seeds = '{'9' * 5000}'"])
def test_a_sentence_about_a_long_value_is_short(line: str, tmp_path: Path) -> None:
    path = tmp_path / "long.toml"
    path.write_text(line + "\n" + 'tasks = ["digits"]\nclusters = ["demo8"]\narms = ["wait-all"]\n')
    with pytest.raises(InputError) as refused:
        read_study(path)
    assert len(str(refused.value).removeprefix(str(path))) < 500


def test_a_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_study(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('tasks = ["digits"]', 'tasks = ["digitz"]', "Unknown task 'digitz'. Did you mean 'digits'?"),
        ('tasks = ["digits"]', 'tasks = ["digits:hiden=3"]', "hiden"),
        ('clusters = ["demo8"]', 'clusters = ["demo9"]', "demo9"),
        ('policy = "wait-all"', 'policy = "wait-some"', "Unknown policy 'wait-some'"),
        ('policy = "wait-all"', 'policy = "backup:c=9"', "c=9, but demo8 has only 8 workers"),
        ('policy = "wait-all"', 'policy = "stopping:floor=20"', "demo8 has only 8 workers"),
        (
            'policy = "wait-all"',
            'policy = "stopping:objective=gain"\nrate_rule = "linear"',
            "objective=gain does not go with the learning-rate rule 'linear'",
        ),
        (
            'policy = "wait-all"',
            'policy = "wait-all"\nrate_rule = "cubic"',
            "Unknown learning-rate rule 'cubic'",
        ),
        ("rates = [0.1, 1]", "rates = [0.1, -1]", "learning rate must be positive"),
        ("rates = [0.1, 1]", 'optimiser = "sdg"', "Unknown optimiser 'sdg'"),
        ("rates = [0.1, 1]", "batch = 0", "batch must be at least 1"),
        ("rates = [0.1, 1]", "batch = 1438", "batch must be at most the 1,437 samples"),
        ("rates = [0.1, 1]", 'figure = "speed"\ntarget = 1.0', "'speed'"),
    ],
)
def test_everything_is_looked_up_before_anything_is_run(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    study = read_study(written(tmp_path, GOOD.replace(old, new, 1)))
    grid = Grid(study, MAKERS, Folder(tmp_path / "out"), 1)
    with pytest.raises(InputError) as problem:
        grid.check()
    assert said in str(problem.value)
    assert not (tmp_path / "out").exists()


EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "studies").glob("*.toml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_can_be_carried_out(path: Path, tmp_path: Path) -> None:
    study = read_study(path)
    assert study.name == path.stem
    if not any("folder=" in task for task in study.tasks):
        Grid(study, MAKERS, Folder(tmp_path)).check()


def test_an_arm_can_have_an_optimiser_of_its_own(tmp_path: Path) -> None:
    text = GOOD.replace('policy = "wait-all"', 'policy = "wait-all"\noptimiser = "adam"')
    study = read_study(written(tmp_path, text))
    by_arm = {
        arm.name: Setup.of(study, MAKERS, Place("digits", "demo8", arm, arm.policies[0], 0))
        .recipe(0.1)
        .optimiser
        for arm in study.arms
    }
    assert by_arm == {"wait-all": "adam", "static": "momentum"}
