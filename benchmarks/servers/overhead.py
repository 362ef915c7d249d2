"""Measure the overhead of a round: 8 workers, a million parameters, 1, 2 and 4 shards; also the torch engine.

Workers that finish at the same moment queue for the two processors of this machine, which workers on machines
of their own would not. So the overhead is measured twice: with all workers done at once, and one after the
other.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.claims import Claim, print_table
from benchmarks.live.measure import measured as live
from benchmarks.servers.bare import bare
from benchmarks.servers.job import Rounds, local_cluster, measured, run
from benchmarks.servers.parts import Processors, Stamps, parts

LIMIT = 15.0
"""Largest overhead of a round, in milliseconds."""
WORKERS, UPDATES = 8, 60
ARMS = {
    "1 shard": (1, 0.0),
    "2 shards": (2, 0.0),
    "4 shards": (4, 0.0),
    "1 shard, one after the other": (1, 1.0),
    "2 shards, one after the other": (2, 1.0),
}
"""Shards, and the largest extra run time as a share of 50 ms."""
SECONDS = 0.05
BARE = {"the same messages, Ray alone": 0.0, "the same, one after the other": 1.0}


def main(repeats: int) -> list[Claim]:
    """Run and judge."""
    found: dict[str, list[Rounds]] = {name: [] for name in (*ARMS, *BARE)}
    with local_cluster(WORKERS + 4) as ray:
        for _ in range(repeats):
            for name, (servers, spread) in ARMS.items():
                runs = found[name]
                runs.append(measured(run(ray, servers=servers, spread=spread, updates=UPDATES)))
            for name, spread in BARE.items():
                found[name].append(bare(ray, WORKERS, SECONDS, spread, UPDATES))
        _tell(found, _torch(repeats))
        for spread in (0.0, 1.0):
            _profile(ray, spread)
    floors = {spread: _mean(found[name]) for name, spread in BARE.items()}
    best = {
        spread: min(_mean(found[name]) for name in ARMS if ARMS[name][1] == spread) for spread in (0.0, 1.0)
    }
    return [
        Claim(
            f"A round costs ≤ {LIMIT:g} ms beside computing, {how}",
            f"{best[spread]:.1f} ms; its messages with Ray alone {floors[spread]:.1f}",
            best[spread] <= LIMIT,
        )
        for how, spread in (("all done at once", 0.0), ("one done after the other", 1.0))
    ]


def _mean(runs: list[Rounds]) -> float:
    return mean(one.overhead for one in runs)


def _torch(repeats: int) -> float:
    """Gradients per second of the torch engine on the same net."""
    job = ["--updates", str(UPDATES), "--unit", "0.05", "--hidden", "13000"]
    return mean(live("wait-all", WORKERS, job).gradients for _ in range(repeats))


def _tell(found: dict[str, list[Rounds]], torch: float) -> None:
    names = ("way", "make", "overhead", "update")
    rows = [
        [
            arm,
            *(f"{mean(getattr(one, name) for one in runs):.1f}" for name in names),
            f"{min(one.overhead for one in runs):.1f}–{max(one.overhead for one in runs):.1f}",
            f"{mean(one.gradients for one in runs):.1f}",
        ]
        for arm, runs in found.items()
    ]
    rows.append(["torch engine, wait-all", "", "", "", f"{1e3 * WORKERS / torch:.1f}", "", f"{torch:.1f}"])
    columns = ("", "jobs out, news back", "shards", "overhead", "update", "overhead, all runs", "gradients/s")
    print_table(f"A round of {WORKERS} workers, 1 M parameters, 50 ms of work; milliseconds", columns, rows)


def _profile(ray: Any, spread: float) -> None:
    """Print the parts of a round with one shard, and its processor time."""
    with tempfile.TemporaryDirectory() as folder:
        stamps, processors = Stamps(Path(folder)), Processors(UPDATES - 5)
        result = run(
            ray,
            servers=1,
            spread=spread,
            updates=UPDATES,
            more={"prepare": stamps},
            meanwhile=processors,
        )
        how = "one done after the other" if spread else "all done at once"
        rows = [[name, f"{ms:.1f}"] for name, ms in parts(stamps, result.rounds).items()]
        print_table(f"Parts of a round, 1 shard, {how}, ms", ("", "median"), rows)
        used = processors.of_round
        rows = [[kind, f"{ms:.1f}"] for kind, ms in sorted(used.items(), key=lambda each: -each[1])]
        rows.append(["all, on two processors", f"{sum(used.values()):.1f}"])
        print_table(f"Processor time of a round, 1 shard, {how}, ms", ("", "mean"), rows)
