"""Workers, shards and the driver killed while they train: nothing lost, nothing doubled, nothing mixed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.claims import Claim, print_table
from benchmarks.servers.job import local_cluster
from tailcut import names
from tailcut.engines.servers.actors import digest_of
from tailcut.engines.servers.computing import Setting
from tailcut.engines.servers.driver import Driver
from tailcut.engines.servers.plan import Plan
from tailcut.engines.servers.train import train
from tailcut.engines.slow.delays import Delays
from tailcut.learning.recipe import Recipe
from tailcut.policy import Policy
from tailcut.testing.manifests import Violation, check
from tailcut.testing.servers import Strike, Strikes

WORKERS, SERVERS, APART = 4, 2, 6
"""Updates from one death to the next."""


def plan(prepare: Strikes, updates: int) -> Plan:
    """A small net, 30 ms of work."""
    policy = names.entrant("wait-all").policy
    assert isinstance(policy, Policy)
    setting = Setting(partial(names.task, "logistic"), 8, 0, 1, Delays(np.full((1, WORKERS), 0.03)))
    recipe = Recipe(0.3, optimiser="momentum")
    return Plan(setting, policy, recipe, WORKERS, SERVERS, updates=updates, every=updates, prepare=prepare)


def kinds(times: int) -> dict[str, list[Strike]]:
    """What is killed, where, how often."""
    at = [3 + APART * k for k in range(times)]
    return {
        "a worker": [Strike("worker", k % WORKERS, "computing", v) for k, v in enumerate(at)],
        "a shard before apply": [Strike("shard", k % SERVERS, "applying", v) for k, v in enumerate(at)],
        "a shard in apply": [Strike("shard", k % SERVERS, "stepped", v) for k, v in enumerate(at)],
        "a shard after apply": [Strike("shard", k % SERVERS, "applied", v) for k, v in enumerate(at)],
        "a shard between two applies": [Strike("shard", 1, "applying", v, after=0) for v in at],
        "all workers": [Strike("worker", w, "computing", v) for v in at for w in range(WORKERS)],
    }


def main(repeats: int) -> list[Claim]:
    """Run and judge."""
    rows, claims = [], []
    with local_cluster(WORKERS + SERVERS) as ray:
        for name, strikes in kinds(repeats).items():
            began = time.monotonic()
            struck, versions, restored, wrong = killed(ray, strikes, 3 + APART * repeats + 5)
            rows.append([name, str(struck), str(versions), str(restored), wrong or "none"])
            rows[-1].append(f"{time.monotonic() - began:.0f}")
            claims.append(Claim(f"{name} killed: no violation", wrong or f"none in {struck}", not wrong))
    print_table("Killed while it trains", ("", "deaths", "updates", "restored", "violations", "s"), rows)
    claims.append(driver_killed(repeats))
    return claims


def killed(ray: Any, strikes: list[Strike], updates: int) -> tuple[int, int, int, str]:
    """One run with these deaths; how many there were, versions, shards restored, and what was wrong."""
    with tempfile.TemporaryDirectory() as name:
        script = Strikes(Path(name), tuple(strikes))
        manifests: dict[int, list[str]] = {}

        def note(driver: Driver) -> None:
            now = driver.manifest
            if now is not None and now.version not in manifests:
                manifests[now.version] = [digest_of(each).hex() for each in ray.get(list(now.parameters))]

        result = train(ray, plan(script, updates), meanwhile=note)
        wrong = ""
        try:
            # Versions may pass between two looks; those that were looked at must be right.
            seen = [version for version in manifests if version]
            check(script.seen(), {v: manifests.get(v, ()) for v in range(max(seen) + 1)}, SERVERS)
        except Violation as violation:
            wrong = str(violation)
        if result.version != updates or script.struck() != len(strikes):
            wrong = (
                wrong or f"{result.version} updates of {updates}, {script.struck()} deaths of {len(strikes)}"
            )
        return script.struck(), result.version, result.restored, wrong


def driver_killed(times: int) -> Claim:
    """The driver killed at moments of chance and started again, until it has come to its end."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        folder, lives = Path(name), 0
        for _ in range(times):
            process = _driver(folder)
            time.sleep(float(rng.uniform(8.0, 16.0)))
            lives += process.poll() is None
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        last = _driver(folder)
        code = last.wait(timeout=300)
        version = json.loads((folder / "result.json").read_text())["version"] if code == 0 else None
    text = f"the driver killed {times} times and resumed: the run comes to its end"
    return Claim(text, f"version {version} after {lives} deaths", version == UPDATES)


UPDATES = 1500


def _driver(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "benchmarks.servers.deaths", str(folder)]
    return subprocess.Popen(command, start_new_session=True)


def drive(folder: Path) -> None:
    """Be a driver that may be killed."""
    usual = plan(Strikes(folder), UPDATES)
    with local_cluster(WORKERS + SERVERS) as ray:
        result = train(ray, replace(usual, checkpoints=folder / "kept", keep_every=20))
    (folder / "result.json").write_text(json.dumps({"version": result.version}))


if __name__ == "__main__":
    drive(Path(sys.argv[1]))
