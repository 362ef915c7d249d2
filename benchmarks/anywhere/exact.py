"""Laws with a known optimum: `bayes` on laws with atoms, `stopping` with the true law on continuous ones.

The optimum is the best that any rule can do that knows the law but not the future, by dynamic programming. Where many
workers arrive at the same instant they are known together: the rule decides once per instant, with all of them in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from benchmarks import optimal
from benchmarks.anywhere.options import Options
from benchmarks.anywhere.play import play, spread
from benchmarks.claims import Claim, print_table
from tailcut import names
from tailcut.clusters import Deterministic, Iid, Mixture
from tailcut.forecast import Truth
from tailcut.optimal import OptimalStopping, optimal_stopping
from tailcut.policy import Policy
from tailcut.rules import Stopping
from tailcut.study.contest import Entrant
from tailcut.study.parallel import Job
from tailcut.table import Table
from tailcut.types import FloatArray

ROUNDS, BEGIN = 300, 100
SIZES = (4, 8, 16)
LIMIT = 0.98
CONTINUOUS_ROUNDS = 1000
INFORMED = "informed"


@dataclass(frozen=True, slots=True)
class Atoms:
    """A law of few values.

    Attributes:
        about: name in tables.
        times: seconds, increasing.
        chances: their probabilities; they add up to 1.
    """

    about: str
    times: tuple[float, ...]
    chances: tuple[float, ...]

    def optimum(self, n: int) -> OptimalStopping:
        """Return the optimal rule for n independent workers."""
        # Exactly 0 at the end: a rest from rounding would be a worker that never comes.
        survival = np.append(1.0 - np.cumsum(self.chances)[:-1], 0.0)
        return optimal_stopping(np.array(self.times), survival, n, 0.0)

    def cluster(self, n: int) -> Iid:
        """Return the same as a cluster, whose law the informed bound knows."""
        return Iid(Mixture(tuple(map(Deterministic, self.times)), self.chances), n)

    def seconds(self, rounds: int, n: int, seed: int) -> FloatArray:
        """Draw `(rounds, n)` run times."""
        rng = np.random.default_rng([seed, n, len(self.times)])
        return rng.choice(np.array(self.times), (rounds, n), p=self.chances)


def coarse(sigma: float, step: float, count: int) -> Atoms:
    """Return a log-normal law rounded up to multiples of `step`, cut after `count` of them."""
    edges = step * np.arange(count + 1)
    with np.errstate(divide="ignore"):
        below = ndtr(np.log(edges) / sigma)
    chances = np.diff(below)
    some = chances > 1e-9
    kept = chances[some] / chances[some].sum()
    about = f"log-normal {sigma:g} rounded up to {step:g} s"
    return Atoms(about, tuple(edges[1:][some].tolist()), tuple(kept.tolist()))


LAWS = (
    Atoms("1 or 2 s, 70 and 30 %", (1.0, 2.0), (0.7, 0.3)),
    Atoms("1 or 5 s, 90 and 10 %", (1.0, 5.0), (0.9, 0.1)),
    Atoms("1, 1.5 or 4 s, 70, 25 and 5 %", (1.0, 1.5, 4.0), (0.7, 0.25, 0.05)),
    Atoms("1, 2 or 3 s, a third each", (1.0, 2.0, 3.0), (1 / 3, 1 / 3, 1 / 3)),
    coarse(0.3, 0.25, 24),
    coarse(0.6, 0.5, 40),
)


def shares_of(law: Atoms, n: int, seed: int, policies: Sequence[str], rounds: int) -> dict[str, float]:
    """Return the share of the optimal rule's rate on the same run times, policy by policy, from round `BEGIN` on."""
    seconds = law.seconds(rounds, n, seed)
    table = Table.dense(seconds, source=law.about)
    counts, elapsed = law.optimum(n).run(seconds[BEGIN:])
    best = float(counts.sum() / elapsed.sum())
    entrants = [names.entrant(name) for name in policies]
    truth = Policy(Truth(law.cluster(n).law, np.empty((rounds, 0))), Stopping())
    entrants.append(Entrant(INFORMED, truth))
    return {entrant.name: play(table, entrant).throughput(BEGIN) / best for entrant in entrants}


def continuous_share(law: str, seed: int, rounds: int) -> float:
    """Return the share of the optimum that `stopping` with the true law has on a continuous law."""
    return optimal.shares(optimal.laws()[law], rounds, seed).stopping


def main(options: Options) -> list[Claim]:
    """Measure, print and judge."""
    atoms = spread(
        "laws with atoms",
        [
            Job((law.about, n, seed), shares_of, (law, n, seed, options.policies, options.rounds or ROUNDS))
            for n in sorted(SIZES, reverse=True)
            for law in LAWS
            for seed in options.seeds
            if options.takes(f"{law.about} n={n} atoms seed={seed}")
        ],
        options.jobs,
    )
    if atoms.results:
        show(atoms.results, options)
    atoms.or_stop()
    continuous = spread(
        "continuous laws",
        [
            Job((law, seed), continuous_share, (law, seed, options.rounds or CONTINUOUS_ROUNDS))
            for law in optimal.laws()
            for seed in options.seeds
            if options.takes(f"{law} continuous seed={seed}")
        ],
        options.jobs,
    )
    found = _means(continuous.results)
    if found:
        print_table(
            f"continuous laws: share of the optimum, mean over {options.said_seeds()}",
            ("law", f"stopping with the true law (≥ {optimal.LEAST:g})"),
            [[law, f"{share:.4f}"] for law, share in found.items()],
        )
    continuous.or_stop()
    return [*claims_of(atoms.results, options.policy), *_continuous_claims(found)]


def show(found: Mapping[tuple[str, int, int], Mapping[str, float]], options: Options) -> None:
    """Print a row for each law and size."""
    every = (*options.policies, INFORMED)
    means = mean_shares(found)
    rows = [
        [f"{law}, {n} workers", *(f"{shares[policy]:.4f}" for policy in every)]
        for (law, n), shares in sorted(means.items(), key=lambda item: (item[0][0], item[0][1]))
    ]
    print_table(
        f"laws with atoms: share of the optimum by dynamic programming, from round {BEGIN} on; mean over "
        f"{options.said_seeds()}. informed: stopping with the true law",
        ("law", *(f"{policy} (≥ {LIMIT:g})" if policy == options.policy else policy for policy in every)),
        rows,
    )


def mean_shares(
    found: Mapping[tuple[str, int, int], Mapping[str, float]],
) -> dict[tuple[str, int], dict[str, float]]:
    """Return the mean over the seeds."""
    groups: dict[tuple[str, int], list[Mapping[str, float]]] = {}
    for (law, n, _), shares in found.items():
        groups.setdefault((law, n), []).append(shares)
    return {
        key: {policy: sum(one[policy] for one in some) / len(some) for policy in some[0]}
        for key, some in groups.items()
    }


def claims_of(found: Mapping[tuple[str, int, int], Mapping[str, float]], policy: str) -> list[Claim]:
    """Return the claim about laws with atoms; none without cases."""
    means = {key: shares[policy] for key, shares in mean_shares(found).items()}
    if not means:
        return []
    worst = min(means, key=lambda key: means[key])
    below = sum(share < LIMIT for share in means.values())
    return [
        Claim(
            f"exact: {policy} has at least {LIMIT:g} of the optimum on every law with atoms, from round {BEGIN} on",
            f"{means[worst]:.4f}: {worst[0]}, {worst[1]} workers, the worst of {len(means)}; {below} are below",
            means[worst] >= LIMIT,
        )
    ]


def _means(found: Mapping[tuple[str, int], float]) -> dict[str, float]:
    laws = dict.fromkeys(law for law, _ in found)
    grouped = {law: [share for (one, _), share in found.items() if one == law] for law in laws}
    return {law: sum(some) / len(some) for law, some in grouped.items()}


def _continuous_claims(found: Mapping[str, float]) -> list[Claim]:
    if not found:
        return []
    worst = min(found, key=lambda law: found[law])
    return [
        Claim(
            f"exact: stopping with the true law has at least {optimal.LEAST:g} of the optimum on continuous laws",
            f"{found[worst]:.4f}: {worst}, the worst of {len(found)}",
            found[worst] >= optimal.LEAST,
        )
    ]
