"""Recalibrate the lower tails of the laws by how early workers arrive.

The factor that workers share is judged by all of them together, so the lower tails of thousands of laws are multiplied.
A tail that is twice too thick makes the silence of 10,000 workers look like a slow round. Tails are therefore
recalibrated: with u = F(x) for each run time x under the law that was told, every halving of u should halve the number
of run times below it. What share a halving keeps is learned, and the lower half of every law is mapped
accordingly:

    G(2⁻ᵏ) = ½ · p₂ · … · p_k,    p_j = share of the run times with u ≤ 2⁻ʲ⁺¹ that have u ≤ 2⁻ʲ, at most ½.

Tails are made thinner only. The laws of the first rounds are too narrow, so their run times ask for tails that are too
thick for the laws of later rounds. Hundreds of workers would be expected long before they can arrive, and the round
would close with the first few. Nothing would be seen of the others, so the tails would stay too thick.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailcut.types import BoolArray, FloatArray

HALVINGS = 24
"""Number of halvings of u, from ½ on, that are told apart."""
DOUBT = 8.0
"""Prior number of run times for each halving, half of which are below it."""
MEMORY = 300.0
"""Rounds over which run times are forgotten."""
KNOTS = np.exp2(-np.arange(1.0, HALVINGS + 2))
"""Probabilities `(HALVINGS + 1,)` between the halvings, falling from ½."""


@dataclass(frozen=True, slots=True, eq=False)
class Early:
    """Discounted numbers of run times by halving.

    Attributes:
        tested: `(HALVINGS,)` run times with u at most `KNOTS[j]`, of workers that would have been seen there.
        below: `(HALVINGS,)` those among them with u at most `KNOTS[j + 1]`.
    """

    tested: FloatArray
    below: FloatArray

    @staticmethod
    def nothing() -> Early:
        """Return counts of no run times."""
        return Early(np.zeros(HALVINGS), np.zeros(HALVINGS))

    def after(self, law: FloatArray, position: FloatArray, observed: BoolArray, close: FloatArray) -> Early:
        """Count a round's run times.

        Args:
            law: `(n, cells)` each worker's law as it was told.
            position: `(n,)` position of the run time, in cells and parts of cells.
            observed: `(n,)` false where it is only a bound.
            close: `(n,)` position of the close for each worker, in cells.
        """
        keep = 1.0 - 1.0 / MEMORY
        tested, below = self.tested * keep, self.below * keep
        seen = np.flatnonzero(observed)
        # A run time counts for a halving only if any run time in it would have been seen before the close.
        reached = _below(law[seen], close[seen])
        u = _below(law[seen], position[seen])
        for j in range(HALVINGS):
            mine = (u <= KNOTS[j]) & (reached >= KNOTS[j])
            tested[j] += np.count_nonzero(mine)
            below[j] += np.count_nonzero(mine & (u <= KNOTS[j + 1]))
        return Early(tested, below)

    def applied(self, law: FloatArray) -> FloatArray:
        """Return the laws `(n, cells)` with lower halves no more likely than seen; upper halves stay."""
        if not self.tested.any():
            return law
        share = np.minimum((self.below + 0.5 * DOUBT) / (self.tested + DOUBT), 0.5)
        logs = np.cumsum(np.log(np.append(0.5, share)))
        reached = np.cumsum(law, axis=1)
        rows, cells = np.nonzero((reached < 0.5) & (reached > 0.0))
        u = np.log(reached[rows, cells])
        mapped = np.interp(u, np.log(KNOTS[::-1]), logs[::-1])
        # Below the last knot a halving keeps a half.
        mapped += np.minimum(u - np.log(KNOTS[-1]), 0.0)
        mended = reached.copy()
        mended[rows, cells] = np.exp(mapped)
        out: FloatArray = law + np.diff(mended - reached, axis=1, prepend=0.0)
        return np.maximum(out, 0.0)


def _below(law: FloatArray, position: FloatArray) -> FloatArray:
    """Return `(n,)` the probability of each law below a position, linear within a cell."""
    cell = np.clip(position.astype(np.int64), 0, law.shape[1] - 1)
    rows = np.arange(len(law))
    upto = np.where(np.arange(law.shape[1])[None, :] < cell[:, None], law, 0.0).sum(axis=1)
    out: FloatArray = upto + law[rows, cell] * np.clip(position - cell, 0.0, 1.0)
    return out
