"""Texts become policies, clusters and files; packages of others add their own."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tailcut import names
from tailcut.clusters.presets import PRESETS
from tailcut.errors import ParameterError, TableError, UnknownNameError
from tailcut.policy_names import POLICIES
from tailcut.rules import Backup
from tailcut.study.compare import Setting, compare
from tailcut.study.source import Recorded, Sampled, Source


def _cluster(spec: str) -> object:
    made = names.source(spec)
    assert isinstance(made, Sampled)
    return made.cluster


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_can_be_made_from_its_name(name: str) -> None:
    made = names.entrant(name)
    assert made.name == name
    assert made.acceptance == POLICIES[name].acceptance
    assert made.policy == POLICIES[name].make()


@pytest.mark.parametrize("name", PRESETS)
def test_every_cluster_can_be_made_from_its_name(name: str) -> None:
    made = names.source(name)
    assert isinstance(made, Sampled)
    about = made.cluster.about or PRESETS[name].about
    assert (made.name, made.about, made.rounds) == (name, about, PRESETS[name].rounds)
    assert made.cluster == PRESETS[name].factory()


@pytest.mark.parametrize("name", PRESETS)
def test_every_parameter_of_a_cluster_can_be_given_as_text(name: str) -> None:
    parameters = inspect.signature(PRESETS[name].factory).parameters
    assert {"n", "overhead"} <= set(parameters)
    texts = [f"{key}={parameter.default}" for key, parameter in parameters.items()]
    assert _cluster(":".join([name, *texts])) == PRESETS[name].factory()
    assert _cluster(f"{name}:overhead=0.5") == PRESETS[name].factory(overhead=0.5)
    assert names.source(f"{name}:n=33").draw(0, 3).table.workers == 33


def test_a_cluster_with_other_parameters_says_so() -> None:
    made = names.source("demo8:n=12:factor=3")
    assert made.name == "demo8:n=12:factor=3"
    assert made.about == f"{PRESETS['demo8'].about}; here with n=12, factor=3"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("YES", True),
        ("on", True),
        ("1", True),
        ("false", False),
        ("No", False),
        ("off", False),
    ],
)
def test_yes_and_no_have_several_words(text: str, value: bool) -> None:
    assert names.entrant(f"drop-compute:follow={text}").policy.rule.follow is value


def test_none_is_a_value_where_none_is_possible() -> None:
    assert names.entrant("backup:b=none:c=3").policy.rule == Backup(c=3)
    with pytest.raises(ParameterError, match="a whole number, but got 'none'"):
        names.entrant("softsync:k=none")


def test_words_are_taken_where_few_are_possible() -> None:
    assert _cluster("drift:shape=linear") == PRESETS["drift"].factory(shape="linear")
    with pytest.raises(ParameterError, match="must be one of sine, linear, but got 'Linear'"):
        names.source("drift:shape=Linear")


def test_not_a_number_is_not_a_number() -> None:
    assert names.entrant("trend:memory=inf").policy.forecaster.memory == np.inf
    for text in ("nan", "NaN", "-nan"):
        with pytest.raises(ParameterError, match=f"must be a number, but got '{text}'"):
            names.entrant(f"trend:memory={text}")


def test_an_unknown_name_lists_the_known_ones_and_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'stopping'") as caught:
        names.entrant("stoping")
    assert all(name in str(caught.value) for name in POLICIES)
    with pytest.raises(UnknownNameError, match="Did you mean 'demo8'") as caught:
        names.source("demo9")
    assert all(name in str(caught.value) for name in PRESETS)
    with pytest.raises(UnknownNameError, match="Did you mean 'discount'"):
        names.entrant("bandit:discont=0.9")


def _write(path: Path) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text("round,worker,seconds\n0,a,1\n0,b,2\n")
    return str(path)


def test_a_file_is_read_whatever_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (
        "t.csv",
        "a:b.csv",
        "a:b=1.csv",
        "a:b=1:b=2.csv",
        "demo8:n=3.csv",
        "x:y/demo8.csv",
        "demo8:a/t.csv",
    ):
        made = names.source(_write(Path(name)))
        assert isinstance(made, Recorded)
        assert made.name == name
        assert made.about == "recorded run times, 1 rounds of 2 workers"


def test_the_name_of_a_cluster_goes_before_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _write(Path("demo8"))
    assert isinstance(names.source("demo8"), Sampled)
    with pytest.raises(TableError, match="the ending must be one of"):
        names.source("./demo8")


def test_what_looks_like_a_path_is_missed_as_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for missing in ("steps.csv", "no/steps.npz", "demo8.csv"):
        with pytest.raises(TableError, match="there is no such file"):
            names.source(missing)
    for nothing in ("steps", "", " ", "demo", "-"):
        with pytest.raises(UnknownNameError, match="neither a file nor a cluster"):
            names.source(nothing)


PLUG_IN = '''
from tailcut.clusters import Iid, LogNormal, Preset
from tailcut.forecast import NoForecast
from tailcut.policy_names import NamedPolicy
from tailcut.policy import Policy
from tailcut.rules import Backup


def half(less: int = 0) -> Policy:
    """Wait for half of them.

    More is said below.
    """
    return Policy(NoForecast(), Backup(c=4 - less))


def silent() -> Policy:
    return Policy(NoForecast(), Backup(c=1))


policy = NamedPolicy(half)
untold = NamedPolicy(silent, usual=False)
cluster = Preset("ours", "our own machines", lambda *, n=6, overhead=0.0: Iid(LogNormal(1.0, 0.3), n, overhead), 40)
nothing = "no policy at all"
'''


def _install(folder: Path, name: str, entries: str, code: str = PLUG_IN) -> None:
    """A distribution as an installer leaves it."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entries)
    (folder / f"{name}.py").write_text(code)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed packages."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    for module in [path.stem for path in folder.glob("*.py")]:
        sys.modules.pop(module, None)


GROUPS = (
    "[tailcut.policies]\nhalf = ours:policy\nuntold = ours:untold\n[tailcut.clusters]\nours = ours:cluster\n"
)


def test_another_package_adds_policies_and_clusters(site: Path) -> None:
    _install(site, "ours", GROUPS)
    assert list(names.policies()) == [*POLICIES, "half", "untold"]
    assert list(names.clusters()) == [*PRESETS, "ours"]
    assert names.policies()["half"].about == "Wait for half of them."
    # One that does not describe itself is still listed.
    assert names.policies()["untold"].about == ""
    assert names.entrant("half:less=1").policy.rule == Backup(c=3)
    ours: Source = names.source("ours:n=5")
    assert ours.draw(0, None).table.seconds.shape == (40, 5)
    facts = compare(ours, [names.entrant("half")], Setting(seeds=1))
    assert facts.policies[0].mean_cutoff == 4
    with pytest.raises(UnknownNameError, match=r"'les'. Did you mean 'less'\? Known: less"):
        names.entrant("half:les=1")
    with pytest.raises(UnknownNameError, match="Did you mean 'half'"):
        names.entrant("halv")


def test_a_plug_in_that_cannot_be_loaded_is_passed_over_with_a_warning(site: Path) -> None:
    _install(site, "ours", GROUPS)
    _install(
        site, "broken", "[tailcut.policies]\nsick = broken:policy\n", "raise RuntimeError('out of order')"
    )
    _install(site, "hollow", "[tailcut.policies]\ngone = hollow:policy\n", "")
    _install(site, "absent", "[tailcut.clusters]\nlost = no_such_module:cluster\n", "")
    with pytest.warns(UserWarning, match="could not be loaded") as caught:
        known = names.policies()
    assert list(known) == [*POLICIES, "half", "untold"]
    told = sorted(str(warning.message) for warning in caught)
    assert len(told) == 2
    assert "'gone' of tailcut.policies could not be loaded" in told[0]
    assert "'sick' of tailcut.policies could not be loaded: out of order" in told[1]
    with pytest.warns(UserWarning, match="'lost' of tailcut.clusters could not be loaded"):
        assert list(names.clusters()) == [*PRESETS, "ours"]


def test_a_plug_in_of_the_wrong_kind_is_passed_over_with_a_warning(site: Path) -> None:
    entries = "[tailcut.policies]\nword = ours:nothing\nplace = ours:cluster\n[tailcut.clusters]\nhalf = ours:policy\n"
    _install(site, "ours", entries)
    with pytest.warns(UserWarning, match="must be a NamedPolicy, but is") as caught:
        assert list(names.policies()) == list(POLICIES)
    assert len(caught) == 2
    with pytest.warns(UserWarning, match="'half' of tailcut.clusters must be a Preset"):
        assert list(names.clusters()) == list(PRESETS)
