"""The published model trained anew: only after a change, and then it fits again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from tailcut.clusters import GroupsInTurn
from tailcut.engines.simulated import replay
from tailcut.errors import ParameterError
from tailcut.fitting.bdsgd import BdsgdSettings
from tailcut.fitting.fit_once import fitted
from tailcut.fitting.refit import WATCHED, Refit, RefitBelief
from tailcut.forecast import Forecaster
from tailcut.forecast.bdsgd.model import BdsgdModel
from tailcut.policy import Policy
from tailcut.rules import Ahead
from tailcut.saved import load_state, save_state
from tailcut.study.lessons import every_row
from tailcut.table import Table
from tailcut.testing import ForecasterSuite
from tailcut.types import Roster

CLUSTER = GroupsInTurn(n=12, groups=3, period=15)
SETTINGS = BdsgdSettings(window=4, hidden=16, latent=4)


def table(seed: int, rounds: int, factor: float = 1.0) -> Table:
    return Table.dense(factor * CLUSTER.sample(rounds, np.random.default_rng(seed)).table.seconds)


@pytest.fixture(scope="module")
def model() -> BdsgdModel:
    return fitted(every_row(table(1, 200)), SETTINGS, seed=0, epochs=15, patience=15)[0]


def forecaster(model: BdsgdModel | None, train: int = 40) -> Refit:
    return Refit(model, train, SETTINGS, epochs=8, samples=64)


def after(refit: Refit, *tables: Table) -> list[RefitBelief]:
    beliefs = [refit.start()]
    for one in tables:
        for seen in every_row(one):
            beliefs.append(refit.learn(beliefs[-1], seen))
    return beliefs


class TestRefitSuite(ForecasterSuite):
    @pytest.fixture
    def forecaster(self) -> Forecaster[Any]:
        return Refit(None, 8, BdsgdSettings(window=2, hidden=8), epochs=2, samples=32)


def test_groups_that_turn_slow_as_in_training_are_no_change(model: BdsgdModel) -> None:
    beliefs = after(forecaster(model), table(2, 150))
    assert not any(belief.changed for belief in beliefs)
    assert beliefs[-1].model is model


def test_a_cluster_that_has_become_slower_is_noticed_and_learnt(model: BdsgdModel) -> None:
    refit = forecaster(model)
    beliefs = after(refit, table(2, 60), table(3, 90, factor=3.0))
    # Half of the rounds that are watched must be worse.
    begin = next(t for t, belief in enumerate(beliefs) if belief.changed)
    assert 60 + WATCHED // 2 <= begin <= 60 + WATCHED
    collecting = beliefs[begin : begin + 40]
    assert all(belief.changed for belief in collecting)
    assert all(refit.forecast(belief, Roster.of(12)) is None for belief in collecting)
    later = beliefs[begin + 40]
    assert (later.changed, later.trainings) == (False, 1)
    assert later.model is not None
    assert later.model.scale == pytest.approx(3 * model.scale, rel=0.1)
    assert refit.forecast(later, Roster.of(12)) is not None


def test_where_only_the_spread_has_changed_it_is_noticed_too(model: BdsgdModel) -> None:
    wild = Table.dense(np.random.default_rng(0).lognormal(0.3, 0.8, (WATCHED, 12)))
    assert after(forecaster(model), table(2, 60), wild)[-1].changed


def test_without_a_model_it_collects_first() -> None:
    refit = forecaster(None)
    beliefs = after(refit, table(2, 41))
    assert refit.forecast(beliefs[39], Roster.of(12)) is None
    assert refit.forecast(beliefs[40], Roster.of(12)) is not None
    assert beliefs[41].trainings == 1


def test_with_censored_rounds_it_waits_for_all_while_it_collects(model: BdsgdModel) -> None:
    changing = Table.dense(np.concatenate([table(2, 60).seconds, table(3, 90, factor=3.0).seconds]))
    policy = Policy(forecaster(model), Ahead())
    counts = replay(changing, policy).counts
    assert (counts[4:60] < 12).any()
    whole = (counts == 12).astype(int)
    # Forty rounds on end, and not all rounds after the change.
    runs = np.convolve(whole[60:], np.ones(40), mode="valid")
    assert runs.max() == 40
    assert (counts[-10:] < 12).any()


def test_a_saved_state_goes_on_as_the_state_itself(model: BdsgdModel, tmp_path: Path) -> None:
    policy = Policy(forecaster(model), Ahead())
    belief = after(forecaster(model), table(2, 50))[-1]
    save_state(tmp_path / "s", type(policy.start())(belief, None))
    saved = load_state(tmp_path / "s", policy).belief
    one, other = (policy.forecaster.forecast(each, Roster.of(12)) for each in (belief, saved))
    assert np.array_equal(one.order_means, other.order_means)  # type: ignore[union-attr]
    assert (saved.usual, saved.recent) == (belief.usual, belief.recent)


def test_too_few_rounds_to_train_on_are_refused() -> None:
    with pytest.raises(ParameterError, match="at least 22 rounds"):
        Refit(train=20)
