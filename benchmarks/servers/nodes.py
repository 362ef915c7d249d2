"""Several nodes of a Ray cluster on this machine: each with its own object store, so that objects have to travel."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

from benchmarks.servers.job import STORE
from tailcut.engines.servers.cluster import load_ray, make_token

WORKERS, SERVERS = "workers", "servers"
"""What nodes have that only workers, or only servers, ask for."""


@final
class Nodes:
    """A cluster, its head the node of the driver.

    Attributes:
        ray: the package, connected.
    """

    def __init__(self, ray: Any, cluster: Any) -> None:
        self.ray, self._cluster = ray, cluster

    def add(self, **has: float) -> Any:
        """One more node."""
        return self._cluster.add_node(num_cpus=8, resources=has, object_store_memory=STORE)

    def lose(self, node: Any) -> None:
        """All processes of a node are killed at once."""
        self._cluster.remove_node(node, allow_graceful=False)


@contextmanager
def nodes(head: Mapping[str, float]) -> Iterator[Nodes]:
    """A cluster with one node, for as long as the block lasts."""
    sys.path.insert(0, str(Path(__file__).parents[2]))
    ray = load_ray()
    make_token()
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    cluster.add_node(num_cpus=8, resources=dict(head), object_store_memory=STORE, include_dashboard=False)
    try:
        ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.ERROR)
        yield Nodes(ray, cluster)
    finally:
        ray.shutdown()
        cluster.shutdown()
