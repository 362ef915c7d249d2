"""Kill workers, shards and the driver in training: no update is lost, applied twice, or mixed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.claims import Claim, print_table
from benchmarks.servers.job import local_cluster
from tailcut import names
from tailcut.engines.servers.cluster import cluster
from tailcut.engines.servers.computing import Setting
from tailcut.engines.servers.driver import Driver
from tailcut.engines.servers.plan import Plan, Result
from tailcut.engines.servers.train import train
from tailcut.engines.slow.delays import Delays
from tailcut.learning.recipe import Recipe
from tailcut.policy import Policy
from tailcut.testing.manifests import Gradient, Violation, check
from tailcut.testing.servers import Strike, Strikes
from tailcut.testing.servers_replay import replayed
from tailcut.types import RoundRecord

WORKERS, SERVERS, APART = 4, 2, 6
"""Updates from one death to the next."""
SAME = 1e-4
"""Parameters that are closer than this were made of the same gradients; they are added up in another order."""


def plan(prepare: Strikes, updates: int) -> Plan:
    """Return a plan with a small net and 30 ms of work per gradient."""
    policy = names.entrant("wait-all").policy
    assert isinstance(policy, Policy)
    setting = Setting(partial(names.task, "logistic"), 8, 0, 1, Delays(np.full((1, WORKERS), 0.03)))
    recipe = Recipe(0.3, optimiser="momentum")
    return Plan(setting, policy, recipe, WORKERS, SERVERS, updates=updates, every=updates, prepare=prepare)


def kinds(times: int) -> dict[str, list[Strike]]:
    """Return the strikes of each kind of death: process, point and version."""
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
            struck, versions, restored, wrong = killed(ray, strikes)
            rows.append([name, str(struck), str(versions), str(restored), wrong or "none"])
            rows[-1].append(f"{time.monotonic() - began:.0f}")
            claims.append(Claim(f"{name} killed: no violation", wrong or f"none in {struck}", not wrong))
        print_table("Killed while it trains", ("", "deaths", "updates", "restored", "violations", "s"), rows)
        claims += driver_killed(ray, repeats)
    return claims


def killed(ray: Any, strikes: list[Strike]) -> tuple[int, int, int, str]:
    """Make one run with these deaths; return their number, versions, restored shards, and violations."""
    with tempfile.TemporaryDirectory() as name:
        script = Strikes(Path(name), tuple(strikes))
        # The run ends when all strikes have happened and all processes are back.
        result = train(ray, plan(script, 100_000), meanwhile=_ending(script, len(strikes)))
        try:
            check(script.seen(), SERVERS, accepted(result.rounds), result.version)
            wrong = ""
        except Violation as violation:
            wrong = str(violation)
        if len(result.made) != result.version or result.returns or result.skipped:
            wrong = wrong or f"{len(result.made)} updates, but version {result.version}"
        return script.struck(), result.version, result.restored, wrong or _apart(result)


def _apart(result: Result) -> str:
    """Compare the parameters with a replay in one process; return the difference as text, empty if none."""
    it = plan(Strikes(Path()), 1)
    there = replayed(result.rounds[: result.version], it.setting, it.recipe, WORKERS)
    apart = float(np.abs(there - result.parameters).max())
    return "" if apart < SAME else f"parameters {apart:.1e} from those of one process"


def accepted(rounds: Sequence[RoundRecord]) -> dict[int, list[Gradient]]:
    """Return the gradients that each version accepted; with wait-all each was computed at that version."""
    return {
        record.version: [
            (worker, record.version) for worker in record.roster.workers[record.accepted > 0].tolist()
        ]
        for record in rounds
    }


def _ending(script: Strikes, deaths: int) -> Callable[[Driver], None]:
    """End the run a few updates after the last death."""
    ends: list[int] = []

    def look(driver: Driver) -> None:
        if not ends and script.struck() == deaths and len(driver.roster.there) == WORKERS:
            ends.append(driver.version + APART)
        driver.over |= bool(ends) and driver.version >= ends[0]

    return look


# -- the driver -----------------------------------------------------------------------------------------------------

UPDATES, EVERY = 800, 20


def driver_killed(ray: Any, times: int) -> list[Claim]:
    """The driver killed at moments of chance and started again, until it has come to its end.

    All wait for all, so that every round has the same gradients whenever it is made: the parameters at the end must be
    those of a run that nobody killed.
    """
    rng = np.random.default_rng(0)
    address = ray.get_runtime_context().gcs_address
    with tempfile.TemporaryDirectory() as name:
        folder, lives, most_lost, reached = Path(name), 0, 0, 0
        for life in range(times):
            process = _driver(folder, address, life)
            while _newest(folder / "kept") < reached + EVERY and process.poll() is None:
                time.sleep(0.05)
            time.sleep(float(rng.uniform(0.0, 2.0)))
            lives += process.poll() is None
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            reached = _newest(folder / "kept")
            noted = Strikes(_notes(folder, life)).seen()
            made = max(each.version for each in noted if each.point == "applied") + 1
            most_lost = max(most_lost, made - reached)
        last = _driver(folder, address, times)
        code = last.wait(timeout=300)
        told = json.loads((folder / "result.json").read_text()) if code == 0 else {"version": None}
        wrong = _wrong_in_lives(folder, times) if code == 0 else "it failed"
        (folder / "usual").mkdir()
        usual = train(ray, plan(Strikes(folder / "usual"), UPDATES)) if code == 0 else None
        apart = (
            float("inf")
            if usual is None
            else float(np.abs(np.asarray(told["parameters"]) - usual.parameters).max())
        )
    what = f"the driver killed {times} times and started again"
    return [
        Claim(
            f"{what}: comes to its end, from the newest checkpoint each time (every {EVERY})",
            f"version {told['version']} after {lives} deaths, at most {most_lost} updates made again",
            told["version"] == UPDATES and lives == times and most_lost <= 3 * EVERY,
        ),
        Claim(f"{what}: no violation", wrong or f"none in {times + 1} drivers' lives", not wrong),
        Claim(
            f"{what}: the parameters are those of a run without deaths", f"{apart:.1e} apart", apart < SAME
        ),
    ]


def _newest(kept: Path) -> int:
    """The version of the newest checkpoint; 0 where there is none."""
    return max((int(each.stem[1:]) for each in kept.glob("v*.safetensors")), default=0)


def _notes(folder: Path, life: int) -> Path:
    """Return the notes folder of one driver: its processes may still write when the next driver begins."""
    return folder / f"life.{life}"


def _wrong_in_lives(folder: Path, last: int) -> str:
    """Return the first violation of any driver, or an empty string; the drivers continue one run."""
    everybody = {v: [(worker, v) for worker in range(WORKERS)] for v in range(UPDATES)}
    known = None
    try:
        for life in range(last + 1):
            ended = UPDATES if life == last else None
            known = check(Strikes(_notes(folder, life)).seen(), SERVERS, everybody, ended, known)
    except Violation as violation:
        return f"life {life}: {violation}"
    return ""


def _driver(folder: Path, address: str, life: int) -> subprocess.Popen[bytes]:
    _notes(folder, life).mkdir()
    command = [sys.executable, "-m", "benchmarks.servers.deaths", str(folder), address, str(life)]
    return subprocess.Popen(command, start_new_session=True)


def drive(folder: Path, address: str, life: int) -> None:
    """Be a driver that may be killed."""
    usual = plan(Strikes(_notes(folder, life)), UPDATES)
    with cluster(address, 0) as ray:
        result = train(ray, replace(usual, checkpoints=folder / "kept", keep_every=EVERY))
    told = {"version": result.version, "parameters": result.parameters.tolist()}
    (folder / "result.json").write_text(json.dumps(told))


if __name__ == "__main__":
    drive(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
