"""Forecasters that need training are trained on rounds that the comparison does not measure, and a note says so."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from tailcut import names
from tailcut.fitting.bdsgd import BdsgdSettings
from tailcut.fitting.fit_once import FitOnce
from tailcut.fitting.refit import Refit
from tailcut.forecast import NoForecast
from tailcut.forecast.bdsgd.forecaster import Bdsgd
from tailcut.policy import Policy
from tailcut.rules import Ahead, WaitAll, WarmUp
from tailcut.study.beforehand import prepared
from tailcut.study.compare import Setting, compare
from tailcut.study.contest import Entrant
from tailcut.study.facts import SourceFacts
from tailcut.study.source import SEPARATE_SEED, Recorded
from tailcut.table import Table

SETTINGS = BdsgdSettings(window=3, hidden=8, latent=2)
FIT = FitOnce(train=20, settings=SETTINGS, epochs=3, samples=32, beforehand=40)


def published(forecaster: FitOnce | Refit = FIT, rule: Ahead | WarmUp | None = None) -> Entrant:  # type: ignore[type-arg]
    return Entrant("bdsgd", Policy(forecaster, Ahead() if rule is None else rule, sees_all=True))


def recorded(rounds: int) -> Recorded:
    return Recorded("t", "", names.source("nodes16").draw(3, rounds).table)


def row(facts: SourceFacts, name: str) -> np.ndarray:
    return facts.cutoffs[name]


def test_on_a_cluster_it_is_trained_on_another_draw() -> None:
    source = names.source("nodes16")
    ready = prepared(
        source, [published(), published(Refit(train=20, settings=SETTINGS, epochs=2, beforehand=40))], 60
    )
    assert ready.skip == 0
    once, again = (entrant.policy for entrant in ready.entrants)
    assert isinstance(once.forecaster, Bdsgd)
    assert isinstance(once.rule, WarmUp)
    assert isinstance(again.forecaster, Refit)
    assert again.forecaster.is_trained
    # Collecting anew wants whole rounds, so the rule of a policy that may collect stays as it was.
    assert isinstance(again.rule, Ahead)
    assert ready.notes[0].startswith("bdsgd was trained beforehand on 40 rounds of another draw of nodes16.")
    measured = [source.draw(seed, 40).table.seconds for seed in range(5)]
    separate = source.separate(40)
    assert separate is not None
    assert np.array_equal(separate.seconds, source.draw(SEPARATE_SEED, 40).table.seconds)
    assert not any(np.array_equal(separate.seconds, one) for one in measured)


def test_by_the_clock_too() -> None:
    ready = prepared(names.source("nodes16:states=clock"), [published()], 60)
    assert isinstance(ready.entrants[0].policy.forecaster, Bdsgd)


def test_who_needs_no_training_is_left_alone() -> None:
    trained = prepared(names.source("nodes16"), [published()], 60).entrants[0]
    others = [Entrant("wait-all", Policy(NoForecast(), WaitAll())), trained]
    ready = prepared(names.source("nodes16"), others, 60)
    assert list(ready.entrants) == others
    assert (ready.skip, ready.notes) == (0, ())


def test_all_rounds_of_a_comparison_on_a_cluster_are_measured_after_the_warm_up() -> None:
    facts = compare(names.source("nodes16"), [published()], Setting(seeds=1, rounds=60))
    assert facts.warmup == 6
    assert "trained beforehand" in facts.notes[0]
    # It waits for all in no round: before it has seen a window, rounds close at twice the median arrival.
    assert (row(facts, "bdsgd") < 16).mean() > 0.5


def test_on_a_table_it_is_trained_on_first_rounds_that_nobody_is_measured_on() -> None:
    entrants = [published(), Entrant("backup:c=8", names.entrant("backup:c=8").policy)]
    facts = compare(recorded(60), entrants, Setting())
    assert facts.warmup == 20
    assert (row(facts, "bdsgd")[:20] == 16).all()
    assert (row(facts, "bdsgd")[20:] < 16).mean() > 0.5
    assert facts.notes[0].startswith(
        "bdsgd was trained on the first 20 rounds of the table, in which it waits for all."
    )
    # The figures of the others are over the same rounds as its own.
    other = next(one for one in facts.policies if one.policy == "backup:c=8")
    seconds = recorded(60).table.seconds[20:]
    assert other.throughput.mean == pytest.approx(8 * 40 / np.sort(seconds, axis=1)[:, 7].sum())


def test_a_table_of_few_rounds_trains_it_on_one_half_and_says_that_more_would_be_better() -> None:
    facts = compare(recorded(30), [published()], Setting())
    assert facts.warmup == 15
    assert "on the first 15 rounds of the table (20 would be better)" in facts.notes[0]


def test_a_table_of_too_few_rounds_leaves_it_waiting_for_all_and_says_so() -> None:
    facts = compare(recorded(15), [published()], Setting())
    assert facts.warmup == 1
    assert (row(facts, "bdsgd") == 16).all()
    assert facts.notes[0].startswith("bdsgd waits for all in every round: it has no model")
    assert "at least 16 rounds" in facts.notes[0]
    assert "has 15" in facts.notes[0]


def test_a_longer_warm_up_that_was_asked_for_stays() -> None:
    assert compare(recorded(60), [published()], Setting(warmup=33)).warmup == 33


def test_gaps_in_what_it_is_trained_on_are_filled() -> None:
    table = recorded(60).table
    seconds, observed = table.seconds.copy(), table.observed.copy()
    seconds[4, 2], observed[4, 2] = np.nan, False
    source = Recorded("t", "", Table(seconds, observed, table.names, table.nodes))
    assert (row(compare(source, [published()], Setting()), "bdsgd")[20:] < 16).any()
