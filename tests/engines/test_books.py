"""Records of the work of each worker, from start to fate; work that has its fate is not kept."""

from __future__ import annotations

import pytest

from tailcut.engines.books import Books, InOrder
from tailcut.events import Settle
from tailcut.types import Fate
from tailcut.work import Work


@pytest.mark.parametrize("fate", [fate for fate in Fate if fate is not Fate.USED])
def test_of_late_work_nothing_is_kept_once_it_is_settled(fate: Fate) -> None:
    books = Books(InOrder())
    for version in range(1000):
        for worker in (0, 1):
            books.start(Work(worker, version, version))
            books.arrive(worker, version)
            books.settle(Settle(worker, version, fate, 1.0))
    assert not books._arrived
