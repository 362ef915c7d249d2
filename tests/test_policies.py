"""The ready-made policies: what each parameter changes, and what is refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import pytest

from tailcut import policies
from tailcut.acceptance import (
    ASYNCHRONOUS,
    BATCH_SYNCHRONOUS,
    STALE_SYNCHRONOUS,
    SYNCHRONOUS,
    Acceptance,
    bounded_stale,
)
from tailcut.errors import ParameterError
from tailcut.forecast import NoForecast, Normal, Recent, Trend
from tailcut.names import entrant
from tailcut.policy import Policy
from tailcut.policy_names import POLICIES, NamedPolicy
from tailcut.rules import (
    AdaSync,
    Ahead,
    Backup,
    Bandit,
    Dbw,
    Deadline,
    Explore,
    Fair,
    Floor,
    MicroDeadline,
    Regression,
    Stopping,
    Valued,
    WaitAll,
    WarmUp,
)

Check: TypeAlias = Callable[[Policy], Any]

BAYES_STOPPING = Stopping(optimism=0.3, crowd=16)
"""The rule of `bayes` before it is wrapped."""
GIVEN: dict[str, tuple[Check, Any]] = {
    "backup:b=3": (lambda p: p.rule, Backup(b=3)),
    "backup:c=5": (lambda p: p.rule, Backup(c=5)),
    "backup:share=0.75": (lambda p: p.rule, Backup(share=0.75)),
    "deadline:seconds=2.5": (lambda p: p.rule, Deadline(seconds=2.5)),
    "elfving:window=7": (lambda p: p.forecaster, Normal(window=7)),
    "elfving:see=closed": (lambda p: p.sees_all, False),
    "empirical:window=7": (lambda p: p.forecaster, Recent(window=7)),
    "empirical:see=closed": (lambda p: p.sees_all, False),
    "regression:window=7": (lambda p: p.rule, Regression(window=7)),
    "regression:lags=2": (lambda p: p.rule, Regression(lags=2)),
    "regression:see=closed": (lambda p: p.sees_all, False),
    "bdsgd:window=7": (lambda p: p.forecaster.settings.window, 7),
    "bdsgd:see=closed": (lambda p: p.sees_all, False),
    "bdsgd:train=60": (lambda p: p.forecaster.train, 60),
    "bdsgd:seed=3": (lambda p: p.forecaster.seed, 3),
    "bandit:discount=0.9": (lambda p: p.rule, Bandit(discount=0.9)),
    "drop-compute:micro=4": (lambda p: (p.micro, p.rule), (4, MicroDeadline(micro=4))),
    "drop-compute:follow=true": (lambda p: (p.rule.follow, p.forecaster), (True, Trend())),
    "drop-compute:window=9": (lambda p: p.rule, MicroDeadline(window=9)),
    "trend:memory=40": (lambda p: p.forecaster, Trend(memory=40.0)),
    "trend:floor=2": (lambda p: p.rule, Floor(Explore(WarmUp(Ahead())), least=2)),
    "trend:explore=false": (lambda p: p.rule, WarmUp(Ahead())),
    "trend:fair=20": (lambda p: p.rule, Fair(Explore(WarmUp(Ahead())), most_rounds=20, how="wait")),
    "trend:objective=gain": (lambda p: p.rule, Explore(WarmUp(Valued(Ahead())))),
    "stopping:memory=40": (lambda p: p.forecaster, Trend(memory=40.0)),
    "stopping:skip=0.25": (lambda p: p.rule, Explore(WarmUp(Stopping(skip=0.25)))),
    "stopping:floor=2": (lambda p: p.rule, Floor(Explore(WarmUp(Stopping())), least=2)),
    "stopping:explore=no": (lambda p: p.rule, WarmUp(Stopping())),
    "stopping:fair=20": (lambda p: p.rule, Fair(Explore(WarmUp(Stopping())), most_rounds=20, how="wait")),
    "stopping:fair=20:how=stale": (lambda p: p.rule.how, "stale"),
    "stopping:objective=gain": (lambda p: p.rule, Explore(WarmUp(Valued(Stopping())))),
    "bayes:deep=false": (lambda p: p.forecaster.deep, None),
    "bayes:scenarios=false": (lambda p: p.forecaster.scenarios, False),
    "bayes:skip=0.25": (lambda p: p.rule, Explore(WarmUp(replace(BAYES_STOPPING, skip=0.25)))),
    "bayes:floor=2": (lambda p: p.rule, Floor(Explore(WarmUp(BAYES_STOPPING)), least=2)),
    "bayes:explore=no": (lambda p: p.rule, WarmUp(BAYES_STOPPING)),
    "bayes:fair=20": (lambda p: p.rule, Fair(Explore(WarmUp(BAYES_STOPPING)), most_rounds=20, how="wait")),
    "bayes:fair=20:how=stale": (lambda p: p.rule.how, "stale"),
    "bayes:objective=gain": (lambda p: p.rule, Explore(WarmUp(Valued(BAYES_STOPPING)))),
    "dbw:window=7": (lambda p: p.rule, Dbw(window=7)),
    "dbw:average=3": (lambda p: p.rule, Dbw(average=3)),
    "dbw:see=closed": (lambda p: p.sees_all, False),
    "adasync:share=0.1": (lambda p: p.rule, AdaSync(share=0.1)),
    "adasync:memory=5": (lambda p: p.rule, AdaSync(memory=5.0)),
    "bounded-stale:share=0.25": (lambda p: p.rule, Backup(share=0.25)),
    "batch-sync:share=0.25": (lambda p: p.rule, Backup(share=0.25)),
    "stale-sync:share=0.25": (lambda p: p.rule, Backup(share=0.25)),
    "softsync:k=2": (lambda p: p.rule, Backup(share=0.5)),
}


@pytest.mark.parametrize("spec", GIVEN)
def test_a_parameter_given_as_text_changes_the_policy(spec: str) -> None:
    look, expected = GIVEN[spec]
    made = entrant(spec)
    assert made.name == spec
    assert look(made.policy) == expected
    without_it = spec.rpartition(":")[0]
    assert look(entrant(without_it).policy) != expected


def test_every_parameter_of_every_policy_is_tried_above() -> None:
    tried = {(spec.split(":")[0], spec.split(":")[-1].split("=")[0]) for spec in GIVEN}
    there = {
        (name, key) for name, named in POLICIES.items() for key in inspect.signature(named.make).parameters
    }
    with_a_file = {("bdsgd", "model"), ("bayes", "model")}  # Tried in tests/cli, where there is a file.
    of_acceptance = {("bounded-stale", "most")}  # Tried below: it changes what is accepted.
    assert tried == there - with_a_file - of_acceptance


@pytest.mark.parametrize("name", POLICIES)
def test_every_default_can_be_given_as_text(name: str) -> None:
    parameters = inspect.signature(POLICIES[name].make).parameters
    texts = [f"{key}={parameter.default}" for key, parameter in parameters.items()]
    assert entrant(":".join([name, *texts])).policy == POLICIES[name].make()


def test_what_the_names_stand_for() -> None:
    assert POLICIES["wait-all"].make() == Policy(NoForecast(), WaitAll())
    assert POLICIES["backup"].make() == Policy(NoForecast(), Backup(share=0.96))
    assert POLICIES["async"].make() == Policy(NoForecast(), Backup(c=1))
    assert POLICIES["elfving"].make().sees_all
    assert POLICIES["empirical"].make().sees_all
    assert not POLICIES["trend"].make().sees_all
    assert POLICIES["trend"].make().rule == Explore(WarmUp(Ahead()))
    assert POLICIES["stopping"].make().rule == Explore(WarmUp(Stopping()))
    assert POLICIES["bayes"].make().rule == Explore(WarmUp(BAYES_STOPPING))
    assert not POLICIES["bayes"].make().sees_all
    assert POLICIES["drop-compute"].make().micro == 8


def test_which_gradients_each_accepts() -> None:
    other = {
        "bounded-stale": bounded_stale(4),
        "batch-sync": BATCH_SYNCHRONOUS,
        "stale-sync": STALE_SYNCHRONOUS,
        "softsync": ASYNCHRONOUS,
        "async": ASYNCHRONOUS,
    }
    assert {
        name: named.acceptance for name, named in POLICIES.items() if named.acceptance != SYNCHRONOUS
    } == other
    unusual = {name for name, named in POLICIES.items() if not named.usual}
    assert unusual == {*other, "deadline", "bdsgd", "dbw", "adasync"}


@pytest.mark.parametrize(
    ("text", "acceptance"),
    [
        ("bounded-stale", bounded_stale(4)),
        ("bounded-stale:share=0.25", bounded_stale(4)),
        ("bounded-stale:most=9", bounded_stale(9)),
        ("bounded-stale:most=0", SYNCHRONOUS),
        ("bounded-stale:share=0.25:most=none", STALE_SYNCHRONOUS),
        ("softsync:k=2", ASYNCHRONOUS),
        ("backup:b=2", SYNCHRONOUS),
    ],
)
def test_a_parameter_may_bound_the_staleness(text: str, acceptance: Acceptance) -> None:
    assert entrant(text).acceptance == acceptance


def test_the_bound_of_a_policy_is_one_of_its_parameters_and_its_default_what_it_accepts() -> None:
    for named in POLICIES.values():
        if named.bound is not None:
            default = inspect.signature(named.make).parameters[named.bound].default
            assert named.acceptance.max_staleness == default


def test_wrapping_goes_from_exploration_to_floor_to_fairness() -> None:
    rule = policies.stopping(floor=3, fair=10, how="stale").rule
    assert rule == Fair(Floor(Explore(WarmUp(Stopping())), least=3), most_rounds=10, how="stale")
    bare = policies.trend(explore=False, floor=1, fair=0).rule
    assert bare == WarmUp(Ahead())


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_describes_itself_in_one_line(name: str) -> None:
    about = POLICIES[name].about
    assert about.endswith(".")
    assert "\n" not in about
    assert len(about) > 20


def test_a_policy_without_a_description_has_an_empty_one() -> None:
    def untold() -> Policy:
        return policies.wait_all()

    assert NamedPolicy(untold).about == ""


REFUSED: list[tuple[Callable[[], Policy], str]] = [
    (lambda: policies.backup(b=-1), "b must be at least 0, but got -1"),
    (lambda: policies.backup(c=0), "c must be at least 1, but got 0"),
    (lambda: policies.backup(share=1.5), "share must be over 0 and at most 1, but got 1.5"),
    (lambda: policies.backup(b=1, share=0.5), "Exactly one of b, c and share"),
    (lambda: policies.deadline(seconds=0.0), "seconds must be positive"),
    (lambda: policies.elfving(window=0), "window must be at least 1"),
    (lambda: policies.elfving(see="most"), "see must be 'all'"),
    (lambda: policies.empirical(window=0), "window must be at least 1"),
    (lambda: policies.regression(window=1), "window must be at least 2"),
    (lambda: policies.regression(lags=0), "lags must be at least 1"),
    (lambda: policies.regression(see=""), "see must be 'all'"),
    (lambda: policies.empirical(see=""), "see must be 'all'"),
    (lambda: policies.bandit(discount=0.0), "discount must be over 0"),
    (lambda: policies.drop_compute(micro=0), "micro must be at least 1"),
    (lambda: policies.drop_compute(window=0), "window must be at least 1"),
    (lambda: policies.trend(memory=1.0), "memory must be over 1"),
    (lambda: policies.trend(floor=0), "floor must be at least 1, but got 0"),
    (lambda: policies.trend(fair=-1), "fair must be 0 or more rounds, but got -1"),
    (lambda: policies.stopping(skip=1.0), "skip must be in"),
    (lambda: policies.stopping(floor=-2), "floor must be at least 1, but got -2"),
    (lambda: policies.stopping(fair=-2), "fair must be 0 or more rounds, but got -2"),
    (lambda: policies.stopping(how="never"), "how must be 'wait' or 'stale', but got 'never'"),
    (
        lambda: policies.bayes(model="m", deep=False),
        "model=m is the deep part's, but deep=false leaves that out",
    ),
    (lambda: policies.bayes(skip=1.0), "skip must be in"),
    (lambda: policies.bayes(how="never"), "how must be 'wait' or 'stale', but got 'never'"),
    (lambda: policies.bayes(objective="loss"), "objective must be 'count' or 'gain', but got 'loss'"),  # type: ignore[arg-type]
    (lambda: policies.dbw(window=0), "window must be at least 1"),
    (lambda: policies.dbw(see="some"), "see must be 'all'"),
    (lambda: policies.adasync(share=0.0), "share must be over 0"),
    (lambda: policies.bounded(most=-1), "most must be 0 or more rounds, but got -1"),
    (lambda: policies.bounded(share=0.0), "share must be over 0"),
    (lambda: policies.batch_sync(share=0.0), "share must be over 0"),
    (lambda: policies.stale_sync(share=2.0), "share must be over 0"),
    (lambda: policies.softsync(k=0), "k must be at least 1, but got 0"),
]


@pytest.mark.parametrize(("make", "sentence"), REFUSED, ids=[sentence[:40] for _, sentence in REFUSED])
def test_an_impossible_value_is_refused(make: Callable[[], Policy], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        make()
