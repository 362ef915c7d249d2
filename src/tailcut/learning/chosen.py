"""Parameters that are chosen by a prefix of their names."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from tailcut.errors import ParameterError


class Chosen:
    """Some of the parameters whose numbers lie one after another in a vector.

    Args:
        names: names of all parameters, in the order of the vector.
        sizes: number of elements of each.
        prefix: prefix of the names of the chosen parameters; empty for all.

    Raises:
        ParameterError: no name begins with the prefix.

    Example:
        >>> chosen = Chosen(["policy", "value"], [2, 1], "policy")
        >>> chosen.squared(torch.tensor([1.0, 2.0, 9.0]))
        5.0
    """

    def __init__(self, names: Sequence[str], sizes: Sequence[int], prefix: str) -> None:
        self._sizes, self._is_chosen = list(sizes), [name.startswith(prefix) for name in names]
        self._is_all = all(self._is_chosen)
        if not any(self._is_chosen):
            raise ParameterError(
                f"No parameter that is trained has a name that begins with noise_of={prefix!r}; the first is "
                f"{names[0]!r}. Give '' for all."
            )

    def squared(self, vector: Tensor) -> float:
        """Return the squared norm of the chosen parameters' part of a vector."""
        if self._is_all:
            return float(vector.square().sum())
        parts = zip(torch.split(vector, self._sizes), self._is_chosen, strict=True)
        return float(sum(part.square().sum() for part, is_chosen in parts if is_chosen))
