"""Start and end the actors of a run as its plan says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

from tailcut.engines.servers.actors import CONTROL, ShardActor, WorkerActor
from tailcut.engines.servers.plan import Plan
from tailcut.engines.servers.slices import Telling
from tailcut.types import WorkerId


@final
class Hiring:
    """Starts actors and ends them.

    Args:
        ray: the package, connected to a cluster.
        plan: what each process does, and the resources that it needs.
    """

    def __init__(self, ray: Any, plan: Plan) -> None:
        self._ray, self._plan = ray, plan
        options = _options(plan.worker_needs)
        self._workers = ray.remote(**options, concurrency_groups={CONTROL: 1})(WorkerActor)
        self._shards = ray.remote(**_options(plan.server_needs))(ShardActor)

    def worker(self, worker: WorkerId) -> Any:
        """Start and return a worker's actor."""
        plan = self._plan
        return self._workers.remote(plan.setting, worker, plan.servers, plan.prepare)

    def shard(self, number: int, telling: Telling) -> Any:
        """Start and return a shard's actor; `telling` selects the numbers used to estimate the noise."""
        plan = self._plan
        return self._shards.remote(number, plan.recipe.optimiser, telling, plan.prepare)

    def dismiss(self, actor: Any) -> None:
        """End an actor for good."""
        self._ray.kill(actor)


def _options(needs: Mapping[str, float]) -> dict[str, Any]:
    """Return the options of an actor that Ray restarts without limit, and whose calls it never repeats."""
    own = {name: amount for name, amount in needs.items() if name not in ("CPU", "GPU")}
    cores, gpus = needs.get("CPU", 0), needs.get("GPU", 0)
    return {"max_restarts": -1, "max_task_retries": 0, "num_cpus": cores, "num_gpus": gpus, "resources": own}
