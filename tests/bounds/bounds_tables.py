"""Small random tables for the tests of bounds: whole ones, and ones with holes."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tailcut.table import Table


@st.composite
def tables(draw: st.DrawFn, workers: int = 4, rounds: int = 5, whole: bool = False, most: int = 6) -> Table:
    """Whole numbers of seconds, so that ties abound and sums are exact; worker 0 always comes.

    Of the others some are absent in a round, and of some who are present nothing ever comes.
    """
    shape = (draw(st.integers(1, rounds)), draw(st.integers(1, workers)))
    size = shape[0] * shape[1]
    seconds = np.array(draw(st.lists(st.integers(1, most), min_size=size, max_size=size)), float).reshape(
        shape
    )
    kinds = st.sampled_from(["seen"] if whole else ["seen", "seen", "lost", "absent"])
    kind = np.array(draw(st.lists(kinds, min_size=size, max_size=size))).reshape(shape)
    kind[:, 0] = "seen"
    seconds[kind == "absent"] = np.nan
    return Table(seconds, kind == "seen", tuple(range(shape[1])), np.full(shape[1], -1))


OVERHEADS = st.sampled_from([0.0, 0.25, 2.0])
