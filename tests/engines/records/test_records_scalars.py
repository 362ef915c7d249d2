"""Scalars as TensorBoard itself reads them."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from tests.engines.live.hub_scripts import Fleet
from tests.engines.records.recorded import hub_of

from tailcut.engines.records.scalars import Scalars
from tailcut.errors import InputError
from tailcut.table import Table

pytest.importorskip("tensorboard", reason="needs the extra tensorboard")


def read(folder: Path) -> dict[str, list[tuple[int, float, float]]]:
    """Step, moment and value of every point, by tag."""
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

    [file] = folder.iterdir()
    points: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
    for event in LegacyEventFileLoader(str(file)).Load():
        for value in event.summary.value:
            points[value.tag].append((event.step, event.wall_time, value.simple_value))
    return points


def test_one_point_a_round_in_each_curve(tmp_path: Path) -> None:
    # Two of three are waited for: 1.5 s and 2.5 s, then half a second for the update.
    table = Table.dense(np.array([[1.0, 1.5, 4.0], [2.0, 2.5, 2.75]]))
    scalars = Scalars(tmp_path / "board", began=0.0, calendar=lambda: 1000.0)
    hub = hub_of(table, "backup:c=2", "abandon", scalars)
    Fleet(hub, table, overhead=0.5).run(2)
    scalars.look(hub, 5.0)
    scalars.end(hub, 5.0)
    points = read(tmp_path / "board")
    assert points.keys() == {
        f"tailcut/{name}"
        for name in ("cutoff", "seconds_per_round", "waited", "gradients_per_second", "accepted_share")
    }
    assert points["tailcut/cutoff"] == [(0, 1001.5, 2.0), (1, 1004.5, 2.0)]
    assert [value for *_, value in points["tailcut/waited"]] == [0.25, 0.25]
    assert [value for *_, value in points["tailcut/accepted_share"]] == pytest.approx([2 / 3, 2 / 3])
    # The overhead is a mean of sixteen rounds, of which the first knows nothing yet.
    assert [value for *_, value in points["tailcut/seconds_per_round"]] == pytest.approx(
        [1.5, 2.5 + 0.5 / 16]
    )
    assert points["tailcut/gradients_per_second"][0][2] == pytest.approx(2 / 1.5)


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot be written to .*file \(File exists\)"):
        Scalars(tmp_path / "file", 0.0)
