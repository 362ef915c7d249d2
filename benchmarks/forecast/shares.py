"""Every policy on one sample of one source: the jobs of the big table, and what they bring back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.forecast import models, sources
from benchmarks.forecast.windows import Part, share
from tailcut import names
from tailcut.study.compare import Setting, compare
from tailcut.study.facts import PolicyFacts
from tailcut.table import Table
from tailcut.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """The result of all policies on one sample.

    Attributes:
        source: name in the table.
        seed: seed of the sample.
        rounds: number of rounds.
        warmup: first rounds that the shares leave out.
        of_clairvoyant: policy or bound -> share.
        of_informed: the same, empty where the true law is unknown.
        counts: policy or bound -> `(rounds,)` gradients used.
        elapsed: policy or bound -> `(rounds,)` seconds.
    """

    source: str
    seed: int
    rounds: int
    warmup: int
    of_clairvoyant: dict[str, float]
    of_informed: dict[str, float]
    counts: dict[str, IntArray]
    elapsed: dict[str, FloatArray]

    def rate(self, policy: str, begin: int) -> float:
        """Return the gradients per second from a round on, without an overhead per round."""
        return float(self.counts[policy][begin:].sum() / self.elapsed[policy][begin:].sum())

    def table(self) -> Table:
        """Return the run times of the sample."""
        return sources.opened(self.source).draw(self.seed, self.rounds).table

    def later(self, policy: str, begin: int) -> float:
        """Return the share, from a round on, of a clairvoyant that starts there."""
        return share([Part.since(begin, self.counts[policy], self.elapsed[policy], self.table())])


def train_for(source: str, folder: Path, rounds: int, epochs: int) -> str:
    """Train the published model for a source, and return the policy that uses it."""
    # A colon would end the name of the file where the policy is named.
    path = folder / f"{Path(source).stem.replace(':', '_')}.safetensors"
    return models.train(sources.to_train_on(source, rounds), path, epochs)


def one_sample(
    source: str, seed: int, policies: Sequence[str], rounds: int | None, published: str | None = None
) -> Shares:
    """Compare policies, and every bound, on one sample.

    Args:
        source: name in the table.
        seed: seed of the sample.
        policies: names as a user writes them; `bdsgd` stands for the trained model.
        rounds: number of rounds; None for all of a trace.
        published: the policy that uses the model trained for this source.
    """
    specs = {name: published if name == "bdsgd" and published else name for name in policies}
    inner = sources.opened(source)
    facts = compare(
        sources.OneSeed(inner.name, inner.about, inner, seed),
        [names.entrant(spec) for spec in specs.values()],
        Setting(seeds=1, rounds=rounds),
    )
    called = {spec: name for name, spec in specs.items()}

    def by_name(facts_of: PolicyFacts) -> str:
        return called.get(facts_of.policy, facts_of.policy)

    return Shares(
        source=source,
        seed=seed,
        rounds=facts.rounds,
        warmup=facts.warmup,
        of_clairvoyant={by_name(one): one.of_clairvoyant.mean for one in facts.policies},
        of_informed={by_name(one): one.of_informed.mean for one in facts.policies if one.of_informed},
        counts={called.get(name, name): cutoffs for name, cutoffs in facts.cutoffs.items()},
        elapsed={called.get(name, name): closes for name, closes in facts.closes.items()},
    )
