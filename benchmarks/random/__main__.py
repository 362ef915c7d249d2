"""Play a policy on random clusters; exit code 1 if a claim does not hold.

python -m benchmarks.random [--seeds 5000-5099] [--policy bayes] [--jobs N] [--rounds N] [--report PAGE]

Claims use the seeds 5000 to 5099; policies are developed on the seeds 0 to 99. One cluster takes seconds to minutes:

python -m benchmarks.random --seeds 3,17 --policy stopping
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.anywhere.play import spread
from benchmarks.random.play import play, size_of
from benchmarks.random.show import claims_of, line, show
from tailcut import names
from tailcut.cli.arguments import check_writable
from tailcut.errors import TailcutError
from tailcut.study.parallel import Job

DEVELOPMENT_SEEDS, CLAIM_SEEDS = "0-99", "5000-5099"


def seeds_of(text: str) -> list[int]:
    """Return the seeds of `0-9,13`, each once.

    Example:
        >>> seeds_of("3,0-2,1")
        [0, 1, 2, 3]
    """
    seeds: set[int] = set()
    for part in text.split(","):
        low, dash, high = part.partition("-")
        if not (low.isdecimal() and (high.isdecimal() or not dash)):
            raise argparse.ArgumentTypeError(f"{part!r} is no seed and no range of seeds; write 0-9,13, say")
        seeds.update(range(int(low), int(high or low) + 1))
    return sorted(seeds)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of 1 or more")
    return int(text)


def main(arguments: Sequence[str]) -> int:
    """Play, print and judge; the exit code is 0 if every claim holds."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.random",
        description="Is a policy regretted on clusters that nobody chose? Exit code 1 if a claim does not hold.",
        epilog=f"Claims use the seeds {CLAIM_SEEDS}; develop on the seeds {DEVELOPMENT_SEEDS}.",
    )
    parser.add_argument("--seeds", default=CLAIM_SEEDS, type=seeds_of, help="clusters, as 0-9,13")
    parser.add_argument("--policy", default="bayes", help="as tailcut compare takes it")
    parser.add_argument("--jobs", default=None, type=_count, help="processes; default one per core")
    parser.add_argument("--rounds", default=None, type=_count, help="of each cluster; default as claimed")
    parser.add_argument("--report", default=None, type=Path, help="write a self-contained page here")
    given = parser.parse_args(arguments)
    try:
        names.entrant(given.policy)
        if given.report is not None:
            check_writable(given.report)
    except TailcutError as problem:
        parser.error(str(problem))
    # The largest clusters take longest and begin first.
    ordered = sorted(given.seeds, key=lambda seed: -size_of(seed))
    jobs = [Job(seed, play, (seed, given.policy, given.rounds)) for seed in ordered]
    done = spread("random clusters", jobs, given.jobs, lambda _, found: line(found))
    clusters = [done.results[seed] for seed in given.seeds if seed in done.results]
    said = f"{given.seeds[0]} to {given.seeds[-1]}"
    show(clusters, given.policy, said)
    claims = claims_of(clusters, given.policy)
    for claim in claims:
        print(claim)
    if given.report is not None and clusters:
        # Only here: the table needs no matplotlib.
        from benchmarks.random.page import write_page

        command = shlex.join(["python", "-m", "benchmarks.random", *arguments])
        write_page(clusters, claims, given.policy, command, given.report)
        print(f"Page: {given.report.resolve()}")
    return 0 if not done.interrupted and all(claim.holds for claim in claims) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
