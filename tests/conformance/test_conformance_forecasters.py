from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tailcut.clusters import Iid, LogNormal
from tailcut.forecast import Bayes, Forecaster, NoForecast, Normal, Recent, Trend, Truth
from tailcut.forecast.bayes.context import FEATURES
from tailcut.forecast.bayes.deep import HAZARDS, Deep
from tailcut.testing import ForecasterSuite


def _network() -> Deep:
    """Some network; any must leave forecasts laws."""
    rng = np.random.default_rng(0)
    sizes = [(FEATURES, 8), (8, 8), (8, HAZARDS)]
    return Deep(tuple(map(rng.standard_normal, sizes)), tuple(rng.standard_normal(out) for _, out in sizes))


FORECASTERS: dict[str, Forecaster[Any]] = {
    "none": NoForecast(),
    "normal": Normal(),
    "normal, one round": Normal(window=1),
    "recent": Recent(),
    "recent, one round": Recent(window=1),
    "trend": Trend(),
    "trend, forgetful": Trend(memory=2.0, pool_memory=3.0, strength=0.5, adapt=2.0, grid=16),
    "bayes": Bayes(),
    "bayes, independent": Bayes(scenarios=False),
    "bayes, forgetful": Bayes(Trend(memory=2.0, grid=16), memory=2.0, adapt=2.0, score_memory=2.0, doubt=1.0),
    "bayes, deep": Bayes(deep=_network()),
}


class TestForecasters(ForecasterSuite):
    @pytest.fixture(params=FORECASTERS.values(), ids=FORECASTERS.keys())
    def forecaster(self, request: pytest.FixtureRequest) -> Forecaster[Any]:
        forecaster: Forecaster[Any] = request.param
        return forecaster


class TestTruth(ForecasterSuite):
    from_what_was_seen = False

    @pytest.fixture
    def forecaster(self) -> Forecaster[Any]:
        return Truth(Iid(LogNormal(), 41).law, np.zeros((500, 0)))
