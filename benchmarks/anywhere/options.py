"""The command-line options of the benchmark."""

from __future__ import annotations

from dataclasses import dataclass

DEVELOPMENT_SEEDS = tuple(range(10))
"""Seeds that policies are developed on. No claim uses them."""
CLAIM_SEEDS = (1001, 1002, 1003)
"""Seeds of the claims. Nothing is tuned on them."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options with which the sections run.

    Attributes:
        seeds: samples of each law.
        jobs: processes; None for one per core, 0 or 1 to run everything in this process.
        policies: names as a user writes them. The claims are about the first; the others are shown beside it.
        only: texts that a case's label must contain, all of them; the other cases are left out.
        rounds: rounds of each case; None for the number that the claims use.
    """

    seeds: tuple[int, ...] = CLAIM_SEEDS
    jobs: int | None = None
    policies: tuple[str, ...] = ("bayes",)
    only: tuple[str, ...] = ()
    rounds: int | None = None

    @property
    def policy(self) -> str:
        """The policy that the claims are about."""
        return self.policies[0]

    def takes(self, label: str) -> bool:
        """Return whether a case is played."""
        return all(text in label for text in self.only)

    def said_seeds(self) -> str:
        """Return the seeds as a title shows them."""
        kind = " (the seeds of the claims)" if self.seeds == CLAIM_SEEDS else ""
        return f"seeds {', '.join(map(str, self.seeds))}{kind}"
