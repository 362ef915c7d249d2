"""The contents of a study's figures, before they are drawn."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.study.grid.study_journals import HEAD, INF, points, trained, write, write_arm

from tailcut.engines.simulated.meter import Point
from tailcut.report.study.draw.look import COLOURS, looks
from tailcut.report.study.plots.bars import idle_plot, served_plot, times_plot, traffic_plot
from tailcut.report.study.plots.curves import POINTS, WINDOWS, between_plot, figure_plot, window_means
from tailcut.study.grid.collect import collect
from tailcut.study.grid.facts import CaseFacts
from tailcut.study.grid.summary import study_facts


def case_of(folder: Path) -> CaseFacts:
    (case,) = study_facts(collect(folder)).cases
    return case


def written(folder: Path, seen: list[Point], **head: Any) -> None:
    write(folder, replace(HEAD, **head), seen, trained(seen[-1].seconds, seen))


def test_curves_are_means_over_seeds_with_the_band(tmp_path: Path) -> None:
    write_arm(tmp_path, "bayes", [50.0, 100.0])
    plot = figure_plot(case_of(tmp_path), "figure", "seconds")
    (curve,) = plot.curves
    # Both climb in a straight line to 0.96; the first look that both have is after 20 s.
    assert (curve.at[0], curve.at[-1], plot.end) == (20.0, 100.0, 100.0)
    assert len(curve.at) <= POINTS
    at_40 = int(np.argmin(np.abs(curve.at - 40.0)))
    assert curve.most[at_40] == pytest.approx(0.96 * curve.at[at_40] / 50.0)
    assert curve.least[at_40] == pytest.approx(0.96 * curve.at[at_40] / 100.0)
    assert curve.mean[at_40] == pytest.approx((curve.most[at_40] + curve.least[at_40]) / 2)
    # The run that has ended keeps its last value.
    assert curve.most[-1] == curve.least[-1] == pytest.approx(0.96)


def test_against_updates_the_same_runs_are_one(tmp_path: Path) -> None:
    write_arm(tmp_path, "bayes", [50.0, 100.0])
    (curve,) = figure_plot(case_of(tmp_path), "loss", "updates").curves
    assert (curve.at[0], curve.at[-1]) == (10.0, 50.0)
    assert curve.least == pytest.approx(curve.most)
    assert curve.mean == pytest.approx(2.0 - 1.5 * curve.at / 50.0)


def test_one_slow_arm_does_not_squeeze_the_others(tmp_path: Path) -> None:
    for name, seconds in (("a", 10.0), ("b", 12.0), ("c", 40.0), ("d", 500.0)):
        write_arm(tmp_path, name, [seconds, seconds])
    plot = figure_plot(case_of(tmp_path), "figure", "seconds")
    assert (plot.end, plot.cut) == (40.0, 1)
    assert next(curve for curve in plot.curves if curve.arm == "d").at[-1] >= 100.0
    assert between_plot(case_of(tmp_path), "cutoff").cut == 1


def test_updates_far_apart_get_a_logarithmic_axis(tmp_path: Path) -> None:
    write_arm(tmp_path, "bayes", [10.0])
    assert not figure_plot(case_of(tmp_path), "figure", "updates").log_x
    many = [replace(point, updates=100 * point.updates) for point in points(10.0)]
    written(tmp_path, many, arm="async")
    assert figure_plot(case_of(tmp_path), "figure", "updates").log_x
    assert not figure_plot(case_of(tmp_path), "figure", "seconds").log_x


def test_losses_over_decades_get_a_logarithmic_axis(tmp_path: Path) -> None:
    seen = [
        replace(point, figures={"loss": 10.0**-place, "accuracy": -1.0})
        for place, point in enumerate(points(10.0))
    ]
    written(tmp_path, seen)
    assert figure_plot(case_of(tmp_path), "loss", "seconds").log_y
    assert not figure_plot(case_of(tmp_path), "figure", "seconds").log_y


def test_windows_average_over_time_not_over_looks() -> None:
    # 1 for nine seconds, 11 for one second.
    found = window_means(np.array([9.0, 10.0]), np.array([1.0, 11.0]), np.array([0.0, 10.0]))
    assert list(found) == [2.0]
    found = window_means(np.array([9.0, 10.0]), np.array([1.0, 11.0]), np.array([0.0, 9.0, 10.0, 12.0, 14.0]))
    assert list(found[:2]) == [1.0, 11.0]
    assert np.isnan(found[2:]).all()


def test_windows_leave_out_what_is_unknown() -> None:
    found = window_means(np.array([4.0, 6.0, 8.0]), np.array([np.nan, 3.0, 5.0]), np.array([0.0, 2.0, 8.0]))
    assert math.isnan(found[0])
    assert found[1] == 4.0


@given(
    lengths=st.lists(st.floats(0.01, 100.0), min_size=1, max_size=30),
    windows=st.integers(1, 20),
    seed=st.integers(0, 99),
)
def test_windows_keep_the_total(lengths: list[float], windows: int, seed: int) -> None:
    ends = np.cumsum(lengths)
    values = np.random.default_rng(seed).normal(size=len(lengths))
    edges = np.linspace(0.0, ends[-1], windows + 1)
    found = window_means(ends, values, edges)
    assert np.sum(found * np.diff(edges)) == pytest.approx(np.sum(values * lengths), abs=1e-6)


def test_cutoffs_and_rates_are_those_of_the_looks(tmp_path: Path) -> None:
    seen = [replace(point, cutoff=float(place)) for place, point in enumerate(points(50.0), 1)]
    written(tmp_path, seen)
    (curve,) = between_plot(case_of(tmp_path), "cutoff").curves
    assert curve.mean == pytest.approx([1, 2, 3, 4, 5])
    assert curve.at == pytest.approx([5, 15, 25, 35, 45])
    (rate,) = between_plot(case_of(tmp_path), "rate").curves
    assert rate.mean == pytest.approx(0.1)


def test_a_line_ends_with_the_run_in_the_middle(tmp_path: Path) -> None:
    write_arm(tmp_path, "bayes", [10.0, 20.0, 90.0])
    (curve,) = between_plot(case_of(tmp_path), "cutoff").curves
    assert curve.at[-1] == pytest.approx(20.0 * 4.5 / 5)


def test_noise_scales_are_averaged_by_their_logarithms(tmp_path: Path) -> None:
    for seed, noise in enumerate((10.0, 1000.0)):
        written(tmp_path, points(50.0, noise=noise), seed=seed)
    plot = between_plot(case_of(tmp_path), "noise")
    assert plot.log_y
    assert plot.truth == ()
    assert plot.curves[0].mean == pytest.approx(100.0)
    assert plot.curves[0].most == pytest.approx(1000.0)


def test_the_true_noise_scale_stands_beside_the_estimate(tmp_path: Path) -> None:
    figures = {"loss": 1.0, "accuracy": 0.5, "noise_scale": 64.0}
    written(tmp_path, points(50.0, noise=None, figures=figures), arm="blind")
    written(tmp_path, points(50.0, noise=70.0, figures=figures), arm="seeing")
    plot = between_plot(case_of(tmp_path), "noise")
    assert [curve.arm for curve in plot.curves] == ["seeing"]
    assert [curve.arm for curve in plot.truth] == ["seeing"]
    assert plot.truth[0].mean == pytest.approx(64.0)


def test_times_carry_every_seed_and_what_is_only_a_bound(tmp_path: Path) -> None:
    write_arm(tmp_path, "a", [10.0, 20.0])
    write_arm(tmp_path, "b", [10.0, INF])
    write(tmp_path, replace(HEAD, arm="c"), [], trained(1.0, [], ending="diverged"))
    plot = times_plot(case_of(tmp_path))
    assert plot.arms == ("a", "b", "c")
    assert list(plot.mean[:2]) == [15.0, 55.0]
    assert math.isnan(plot.mean[2])
    assert plot.whole == (True, False, False)
    assert list(plot.seeds[1].reached) == [10.0]
    assert list(plot.seeds[1].ended) == [100.0]


def test_costs(tmp_path: Path) -> None:
    write_arm(tmp_path, "a", [10.0, 20.0])
    case = case_of(tmp_path)
    assert list(idle_plot(case).idle) == [0.25]
    assert list(idle_plot(case).staleness) == [0.5]
    assert (traffic_plot(case).used[0], traffic_plot(case).in_vain[0]) == (60_000.0, 4_000.0)
    served = served_plot(case)
    assert list(served.at) == pytest.approx([0, 100 / 3, 200 / 3, 100])
    assert served.shares.shape == (1, 4)


def test_runs_without_a_look_have_no_curves(tmp_path: Path) -> None:
    write(tmp_path, HEAD, [], trained(1.0, [], ending="diverged"))
    case = case_of(tmp_path)
    assert figure_plot(case, "figure", "seconds").curves == ()
    assert between_plot(case, "cutoff").curves == ()


def test_long_runs_are_thinned(tmp_path: Path) -> None:
    written(tmp_path, points(50.0, count=3000))
    case = case_of(tmp_path)
    assert len(figure_plot(case, "figure", "seconds").curves[0].at) <= POINTS
    assert len(between_plot(case, "noise").curves[0].at) <= WINDOWS


def test_arms_keep_their_look_and_no_two_share_one() -> None:
    names = [f"arm {place}" for place in range(24)]
    found = looks(names)
    assert len({(look.colour, look.dashes) for look in found.values()}) == 24
    assert len({look.colour for look in list(found.values())[: len(COLOURS)]}) == len(COLOURS)
    assert looks(names[:5])["arm 3"] == found["arm 3"]
