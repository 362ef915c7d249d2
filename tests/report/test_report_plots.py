from __future__ import annotations

import numpy as np
import pytest
from report_facts import MakePolicy, MakeSource

from tailcut.report.plots.bars import deciles_plot, idle_plot, shares_plot
from tailcut.report.plots.over_time import cutoffs_plot, map_plot, rolling_mean
from tailcut.report.plots.times import log_ticks, times_plot
from tailcut.study.facts import SourceFacts


def test_shares_follow_the_ranking_and_carry_the_bounds(make_source: MakeSource) -> None:
    plot = shares_plot(make_source(seeds=3))
    assert plot.rows.names[:3] == ("stopping", "backup(b=1)", "wait-all")
    assert plot.rows.policies == 3
    assert plot.mean[0] == 0.95
    assert plot.whiskers
    assert {line.name: pytest.approx(line.share) for line in plot.lines} == {
        "best-static": 0.8,
        "best-deadline": 0.9,
        "informed": 0.99,
    }


def test_bounds_without_a_row_are_found_from_the_shares(
    make_source: MakeSource, make_policy: MakePolicy
) -> None:
    plot = shares_plot(make_source((make_policy("p", 5.0, of_informed=None),)))
    assert {line.name: pytest.approx(line.share) for line in plot.lines} == {
        "best-static": 0.8,
        "best-deadline": 0.9,
    }


def test_finish_mode_is_measured_against_the_abandon_bound(make_source: MakeSource) -> None:
    assert shares_plot(make_source(late="finish")).of_what == "abandon bound"


def test_idle_before_and_after(make_source: MakeSource) -> None:
    plot = idle_plot(make_source())
    assert plot.before == 0.31
    assert list(plot.after[:3]) == [0.07, 0.2, 0.31]


def test_scarce_deciles_are_marked(make_source: MakeSource) -> None:
    plot = deciles_plot(make_source())
    assert plot.shares.shape == (6, 10)
    assert list(np.flatnonzero(plot.scarce[0])) == [8, 9]
    assert not plot.scarce[2].any()


def test_cutoffs_are_smoothed_thinned_and_limited(make_source: MakeSource, make_policy: MakePolicy) -> None:
    some = tuple(make_policy(f"p{i}", 9 - i / 10) for i in range(12))
    plot = cutoffs_plot(make_source(some, seconds=np.ones((1000, 4))))
    assert [panel.name for panel in plot.panels] == [f"p{i}" for i in range(8)]
    assert (plot.left_out, plot.window, plot.rounds) == (4, 25, 1000)
    assert len(plot.panels[0].cutoff) <= 240
    assert np.allclose(plot.panels[0].cutoff, 4)


def test_rolling_mean_is_centred_and_short_at_the_ends() -> None:
    assert list(rolling_mean(np.array([0.0, 3.0, 6.0, 9.0]), 3)) == [1.5, 3.0, 6.0, 7.5]
    assert list(rolling_mean(np.array([5.0]), 1)) == [5.0]


def test_a_small_map_is_the_run_times_themselves(make_source: MakeSource) -> None:
    seconds = np.array([[1.0, 2.0], [3.0, np.nan], [np.inf, 4.0]])
    plot = map_plot(make_source(seconds=seconds))
    assert np.array_equal(plot.cells, [[1, 3, np.nan], [2, np.nan, 4]], equal_nan=True)
    assert (plot.per_row, plot.per_column) == (1, 1)


def test_a_large_map_is_merged_and_ignores_the_absent(make_source: MakeSource) -> None:
    seconds = np.ones((801, 2))
    seconds[0, 0], seconds[3:6, 1] = 7.0, np.nan
    few = map_plot(make_source(seconds=seconds))
    assert (few.per_column, few.merged, few.cells.shape) == (3, "slowest", (2, 267))
    assert few.cells[0, 0] == 7
    assert np.isnan(few.cells[1, 1])
    many = map_plot(make_source(seconds=np.tile(np.arange(1.0, 402.0), (801, 1))))
    assert (many.per_row, many.per_column, many.merged) == (3, 3, "median")
    assert many.cells.shape[0] <= 200
    assert many.cells[0, 0] == 2


def test_histogram_counts_every_known_run_time(make_source: MakeSource) -> None:
    plot = times_plot(make_source(seconds=np.array([[1.0, 2.0], [4.0, np.nan]])))
    assert plot.shares.sum() == pytest.approx(1)
    assert np.count_nonzero(plot.shares) == 3
    assert plot.low < 1 < 4 < plot.high


def test_closings_have_mean_and_middle(make_source: MakeSource) -> None:
    plot = times_plot(
        make_source(closes={"stopping": np.linspace(1, 2, 11), "clairvoyant": np.array([np.inf])})
    )
    (closing,) = plot.closings
    assert closing.name == "stopping"
    assert closing[1:] == pytest.approx((1.1, 1.5, 1.9))
    assert plot.policies == 1


@pytest.mark.parametrize(
    ("low", "high"),
    [(0.8, 30), (1.0, 1.01), (0.98, 1.3), (1e-9, 1e9), (3.1, 3.9), (0.012, 0.2), (1e-3, 2e-3)],
)
def test_ticks_lie_inside_and_are_few(low: float, high: float) -> None:
    ticks = log_ticks(low, high)
    assert 2 <= len(ticks) <= 11
    assert all(low <= tick <= high for tick in ticks)
    assert ticks == sorted(set(ticks))


def test_odd_sources_have_plots(odd_source: SourceFacts) -> None:
    for plot in (shares_plot, idle_plot, deciles_plot, cutoffs_plot, map_plot, times_plot):
        assert plot(odd_source)
