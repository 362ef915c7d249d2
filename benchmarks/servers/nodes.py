"""Start several nodes of a Ray cluster on this machine, each with its own object store."""

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
"""Custom Ray resources that place workers and servers on their nodes."""


@final
class Nodes:
    """A cluster whose head is the node of the driver.

    Attributes:
        ray: the package, connected.
    """

    def __init__(self, ray: Any, cluster: Any) -> None:
        self.ray, self._cluster = ray, cluster

    def add(self, **has: float) -> Any:
        """Add a node with these resources, and return it."""
        return self._cluster.add_node(num_cpus=8, resources=has, object_store_memory=STORE)

    def lose(self, node: Any) -> None:
        """Kill all processes of a node at once."""
        self._cluster.remove_node(node, allow_graceful=False)


@contextmanager
def nodes(head: Mapping[str, float]) -> Iterator[Nodes]:
    """Start a cluster with one node, and shut it down when the block ends."""
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
