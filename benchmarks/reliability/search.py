"""Explore every state of the controller's code among workers that fail at any moment, within bounds.

python -m benchmarks.reliability.search --workers 3 --epochs 2 --most-states 2000000
"""

from __future__ import annotations

import argparse
import resource
import sys
from collections.abc import Sequence
from time import perf_counter

from benchmarks.claims import Claim
from tailcut import names
from tailcut.testing.search.bounds import Bounds, Bug, Troubles
from tailcut.testing.search.explore import Found, explore
from tailcut.testing.search.world import World

USUAL = Troubles()
TROUBLES = {
    "deaths": "processes that are killed",
    "stalls": "reductions that are given up though everybody is in them",
    "silences": "workers that the others go on without, and that wake later",
    "cuts": "lines to the controller that are lost and come again",
    "restarts": "controllers that are killed and followed by another",
    "altogether": "of these in one run",
    "returns": "processes that are started again",
}
WORKERS, EPOCHS, FOR_EACH = 3, 2, 100_000
RETURNS = "--workers 3 --epochs 4 --total 1 --checkpoints --deaths 3 --altogether 3 --returns 2 --stalls 0 --silences 0"
"""Options with which the last workers that have the state die while others join."""


def main(times: int) -> list[Claim]:
    """Explore `FOR_EACH` states per repeat, and a quarter as many with returns to checkpoints."""
    states = FOR_EACH * times
    asked = f"--workers {WORKERS} --epochs {EPOCHS} --total 1 --most-states {states} --all"
    lost = f"--most-states {states // 4} {RETURNS} --all"
    return [
        *judged(search(asked.split()), states),
        *judged(search(lost.split()), states // 4, "Search, with returns to checkpoints"),
    ]


def judged(found: Found, states: int, text: str = "Search") -> list[Claim]:
    """Return the claims that enough states were explored and no rule was broken."""
    rules = [each.rule for each in found.violations]
    ends = Claim(f"{text}: no run goes round in circles", _ends(found), found.ends is True)
    # A smaller state space is explored completely.
    is_enough = found.states >= states or found.whole
    return [
        Claim(f"{text}: ≥ {states:,} states, or all", f"{found.states:,}", is_enough),
        Claim(f"{text}: no rule is broken in any of them", ", ".join(rules) or "none", not rules),
        # Whether every run ends is known only when all states were explored.
        *([ends] if found.whole else []),
    ]


def command(arguments: Sequence[str]) -> int:
    """Search; the exit code is 0 if no rule was broken."""
    found = search(arguments)
    return 1 if found.violations or found.ends is False else 0


def search(arguments: Sequence[str]) -> Found:
    """Search as options say, and print what was found."""
    given = _parser().parse_args(arguments)
    troubles = Troubles(**{name: getattr(given, name) for name in TROUBLES})
    bounds = Bounds(
        workers=given.workers,
        total=given.total,
        epochs=given.epochs,
        troubles=troubles,
        policy=names.entrant(given.policy).policy,
        hasty=given.hasty,
        checkpoints=given.checkpoints,
    )
    world = World(bounds, None if given.bug is None else Bug[given.bug])
    print(f"{given.workers} workers, {given.policy}, to version {given.total}; {troubles}", flush=True)
    began = perf_counter()

    def report(states: int, expanded: int, depth: int) -> None:
        passed = perf_counter() - began
        print(f"  {states:,} states, {expanded:,} expanded, depth {depth}, {passed:.0f} s", flush=True)

    found = explore(world, given.most_states, stop_at_first=not given.all, report=report)
    seconds = perf_counter() - began
    for violation in found.violations:
        print(f"\n{violation}\n")
    reach = "all there are" if found.whole else "there are more"
    print(
        f"states {found.states:,} ({reach}), transitions {found.transitions:,}, depth {found.depth}\n"
        f"controllers {len(world.controllers):,}, their answers {world.controllers.moves:,}\n"
        f"seconds {seconds:.0f}, memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB\n"
        f"every way ends: {_ends(found)}\n"
        f"violations {len(found.violations)}{''.join(f'; {each.rule}' for each in found.violations)}"
    )
    return found


def _ends(found: Found) -> str:
    return {None: "not known", True: "yes", False: "no"}[found.ends]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reliability.search", description=__doc__)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--total", type=int, default=2, help="version at which the run ends")
    parser.add_argument("--epochs", type=int, default=2, help="after which nothing goes wrong any more")
    parser.add_argument("--most-states", type=int, default=2_000_000)
    parser.add_argument("--policy", default="backup:b=1")
    for name, what in TROUBLES.items():
        parser.add_argument(f"--{name}", type=int, default=getattr(USUAL, name), help=what)
    parser.add_argument("--hasty", action="store_true", help="a controller may take over without who is slow")
    parser.add_argument(
        "--checkpoints", action="store_true", help="a run that has lost its state returns to one"
    )
    parser.add_argument("--bug", choices=[bug.name for bug in Bug], help="put one in, to see it found")
    parser.add_argument("--all", action="store_true", help="go on after a broken rule, to find others")
    return parser


if __name__ == "__main__":
    raise SystemExit(command(sys.argv[1:]))
