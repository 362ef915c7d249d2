"""All workers that have the net's state die, in ways of chance: the run returns to its newest checkpoint."""

from __future__ import annotations

import re
from collections import Counter

from benchmarks.claims import Claim
from benchmarks.reliability.runs import Outcome, clean, outcome
from tailcut.engines.records.read import read_run
from tailcut.errors import InputError
from tailcut.testing.chaos.faults import Plan, bereavements
from tailcut.testing.chaos.run import Ended

WORKERS, EVERY, LIMIT = 4, 10, 400.0
MIN_WORKERS = (1, 2, 4)
"""Values of `min_workers` that the patterns take in turn. With fewer workers the run waits."""
_RETURNED = re.compile(r"The run continues from the checkpoint|The run begins anew")


def main(times: int) -> list[Claim]:
    """Run and judge."""
    returns = Counter[str]()
    runs = [_run(seed, returns) for seed in range(times)]
    well = sum(run.ended.code == 0 for run in runs)
    struck = Counter(each.struck.phase for run in runs for each in run.recoveries)
    print(f"faults: {', '.join(f'{kind} {many}' for kind, many in sorted(struck.items()))}", flush=True)
    back = sum(returns.values())
    return [
        Claim(f"Last holders killed: {times} of {times} runs end with exit code 0", str(well), well == times),
        clean("Last holders killed", runs),
        Claim(f"Last holders killed: ≥ {times} returns to the newest checkpoint", str(back), back >= times),
    ]


def plan(seed: int) -> Plan:
    """One pattern of deaths."""
    return Plan(
        bereavements(WORKERS, seed),
        WORKERS,
        seed,
        policy="backup:share=0.75" if seed % 2 else "wait-all",
        size=20_000,
        journal=True,
        checkpoint_every=EVERY,
        min_workers=MIN_WORKERS[seed % len(MIN_WORKERS)],
        patience=60.0,
        spares_holders=False,
    )


def _run(seed: int, returns: Counter[str]) -> Outcome:
    def look(ended: Ended) -> list[str]:
        name = f"seed {seed}"
        returns[name] = len(_RETURNED.findall(ended.folder.said.read_text(errors="replace")))
        print(f"{name}: {returns[name]} returns to a checkpoint", flush=True)
        return recorded(ended)

    return outcome(f"last holders, seed {seed}", plan(seed), LIMIT, more=look)


def recorded(ended: Ended) -> list[str]:
    """Return what is wrong with the record of a run, in which every version must count once, up to the end."""
    try:
        run = read_run(ended.folder.disk / "run")
    except InputError as problem:
        return [f"The record cannot be read: {problem}"]
    versions = [each.version for each in run.rounds]
    if run.ending is None or run.ending.why is not None:
        return [f"The record ends with {run.ending}."]
    if versions != list(range(run.ending.version)):
        return [
            f"The record has {len(versions)} rounds for {run.ending.version} versions, or in another order."
        ]
    return []
