"""The numbers behind a loop over epochs: the updates in an epoch, and where in its data a worker begins.

An epoch is a fixed number of updates. So it ends at a version that is known beforehand, at which all workers can meet;
and the version alone tells which epoch it is, to a worker that resumes, comes back or was late.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar, final

from tailcut.engines.live.checkpoints import Order
from tailcut.errors import ParameterError

T = TypeVar("T")


def updates_of(loader: Iterable[Any], updates: int | None = None) -> int:
    """Return the number of updates in an epoch: the batches of a worker's loader, unless the script says.

    Raises:
        ParameterError: there is no such number.

    Example:
        >>> updates_of(range(40)), updates_of(iter("abc"), 10)
        (40, 10)
    """
    found = length_of(loader) if updates is None else updates
    if found is None:
        raise ParameterError(
            "The loader has no length, so nobody knows when an epoch ends. Give its number of updates: "
            "opt.epochs(loader, n, updates=1000), the same at every worker."
        )
    if found < 1:
        raise ParameterError(
            f"An epoch must have at least 1 update, but got {found}. "
            + ("Give updates=1000, say." if updates is not None else "The loader is empty: see its data.")
        )
    return found


def length_of(loader: Iterable[Any]) -> int | None:
    """Return the number of batches in one pass over a loader; None where it does not say."""
    order = _order_of(loader)
    if order is not None:
        return order.split.steps
    try:
        return len(loader)  # type: ignore[arg-type]
    except (TypeError, NotImplementedError):
        return None


@final
class Passes(Generic[T]):
    """Passes over a loader without end, each in its own order, from any batch of any pass on.

    Args:
        loader: gives the batches of one pass when it is iterated.

    Attributes:
        length: batches in a pass; None where the loader does not say.

    Example:
        >>> from itertools import islice
        >>> list(islice(Passes("abc").batches(0, 2), 5))
        ['c', 'a', 'b', 'c', 'a']
    """

    def __init__(self, loader: Iterable[T]) -> None:
        self._loader, self.length = loader, length_of(loader)

    def in_epoch(self, epoch: int, updates: int, done: int) -> Iterator[T]:
        """Return the batches from an epoch on, without end.

        Args:
            epoch: number of the epoch, from 0.
            updates: updates in every epoch.
            done: updates of this epoch that were made before; as many batches of it are skipped.
        """
        # The number of a pass is that of the epoch, unless the loader must be begun anew within one.
        each = 1 if not self.length else -(-updates // self.length)
        return self.batches(epoch * each, done)

    def batches(self, number: int, used: int) -> Iterator[T]:
        """Yield the batches from a place on, without end, unless the loader gives none when it is begun anew.

        Args:
            number: number of the pass, which the samplers are told.
            used: batches from there on that are skipped, also beyond the end of that pass.
        """
        if self.length:
            number, used = number + used // self.length, used % self.length
        while True:
            came = False
            used = self._begin(number, used)
            for batch in self._loader:
                came = True
                if used:
                    used -= 1
                else:
                    yield batch
            if not came:
                return
            number += 1

    def _begin(self, number: int, used: int) -> int:
        """Tell the samplers which pass begins; return how many batches remain to be skipped."""
        order = _order_of(self._loader)
        if order is not None:
            order.begin(number * order.split.steps + used)
            return 0
        for each in _samplers_of(self._loader):
            each.set_epoch(number)
        return used


def _order_of(loader: Iterable[Any]) -> Order | None:
    found = [each for each in (loader, getattr(loader, "batch_sampler", None)) if isinstance(each, Order)]
    return found[0] if found else None


def _samplers_of(loader: Iterable[Any]) -> list[Any]:
    """Return the objects with `set_epoch`: among the loader, its samplers and its data, each once."""
    inner = getattr(loader, "batch_sampler", None)
    names = (loader, "sampler"), (loader, "batch_sampler"), (inner, "sampler"), (loader, "dataset")
    found = [loader, *(getattr(holder, name, None) for holder, name in names)]
    return list({id(each): each for each in found if callable(getattr(each, "set_epoch", None))}.values())
