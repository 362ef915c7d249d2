from __future__ import annotations

import pytest

from tailcut.clusters import Cluster, fail_at, random_cluster, slow_at
from tailcut.clusters.presets import PRESETS
from tailcut.testing import ClusterSuite

CLUSTERS: dict[str, Cluster] = {
    **{name: preset.factory() for name, preset in PRESETS.items()},
    "slow-at": slow_at(PRESETS["nodes16"].factory(), worker=3, round=5, factor=4.0, rounds=20),
    **{f"random {seed}": random_cluster(seed=seed, n=12) for seed in range(1, 6)},
    "fail-at": fail_at(PRESETS["demo8"].factory(), worker=3, round=5, back=9),
}


class TestClusters(ClusterSuite):
    @pytest.fixture(params=CLUSTERS.values(), ids=CLUSTERS.keys())
    def cluster(self, request: pytest.FixtureRequest) -> Cluster:
        cluster: Cluster = request.param
        return cluster
