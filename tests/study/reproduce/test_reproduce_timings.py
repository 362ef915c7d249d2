"""Order statistics, policies and bounds against closed forms and brute force."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tailcut import names
from tailcut.order import exact_normal_scores
from tailcut.study.grid.makers import Makers
from tailcut.study.reproduce.bdsgd.cutoff import Motion
from tailcut.study.reproduce.bdsgd.order import expected_orders, forecast_order
from tailcut.study.reproduce.bdsgd.runs import Runs, averaged
from tailcut.study.reproduce.experiment import Bench
from tailcut.study.reproduce.timings import CLAIRVOYANT, STATIC, order_means, timed

MAKERS = Makers(names.task, names.source, names.entrant)


def test_order_means_of_normal_run_times_are_the_normal_scores() -> None:
    """32 workers, mean 1 and deviation 0.2; the standard error of a mean of 4,000 is below 0.002."""
    found = np.array(order_means(MAKERS, "iid-normal", 4000)["mean"])
    assert found == pytest.approx(1.0 + 0.2 * exact_normal_scores(32), abs=0.01)


def test_waiting_for_all_and_fixed_cutoffs_equal_brute_force() -> None:
    seconds = np.sort(names.source("demo8").draw(3, 60).table.seconds, axis=1)[10:]
    assert timed(MAKERS, "demo8", "wait-all", 3, 60, 10)["rate"] == pytest.approx(
        8 * 50 / seconds[:, 7].sum()
    )
    assert timed(MAKERS, "demo8", "backup:b=2", 3, 60, 10)["rate"] == pytest.approx(
        6 * 50 / seconds[:, 5].sum()
    )
    rates = [(c + 1) * 50 / seconds[:, c].sum() for c in range(8)]
    best = timed(MAKERS, "demo8", STATIC, 3, 60, 10)
    assert best["rate"] == pytest.approx(max(rates))
    assert best["setting"] == 1 + int(np.argmax(rates))
    assert timed(MAKERS, "demo8", CLAIRVOYANT, 3, 60, 10)["rate"] >= best["rate"]


def test_curves_are_means_of_whole_windows() -> None:
    bench = Bench(MAKERS, Path("nowhere"))
    runs = Runs(bench, "demo8", 40, 10, 2, window=8)
    kept = {
        f"timed/demo8/{name}/40/{seed}": timed(MAKERS, "demo8", name, seed, 40, 10)
        for name in ("wait-all", CLAIRVOYANT)
        for seed in (0, 1)
    }
    line = runs.rate_line("wait-all", kept)
    first = names.source("demo8").draw(0, 40).table.seconds[:8].max(axis=1).sum()
    assert line.x == (8.0, 16.0, 24.0, 32.0, 40.0)
    assert line.y[0] == pytest.approx(64 / first, rel=1e-4)
    assert runs.cutoff_line("wait-all", kept).y == (8.0,) * 5
    assert runs.rate_line(CLAIRVOYANT, kept).look == "bound"
    assert all(share < 1.0 for share in runs.shares("wait-all", kept))
    assert Motion.of(runs, "wait-all", kept) == Motion(8.0, 8.0, 0.0, 0.0)
    assert averaged(np.arange(5.0), 2).tolist() == [0.5, 2.5]


def test_a_right_forecaster_has_no_bias_in_its_order_statistics() -> None:
    """Elfving's formula on the normal run times it assumes, moments of 20 rounds of 32 workers."""
    found = forecast_order(MAKERS, "iid-normal", "elfving", 0, 300, 30)
    off = np.array(found["expected"]) / np.array(found["realised"]) - 1.0
    assert np.abs(off).max() < 0.02
    assert found["positions"][0] == 1.0
    assert found["positions"][-1] == 32.0
    # The realised ones scatter about their mean, so there is a miss even without bias.
    assert all(
        miss > abs(e - r)
        for miss, e, r in zip(found["miss"], found["expected"], found["realised"], strict=True)
    )


def test_forecasts_use_earlier_rounds_only() -> None:
    table = names.source("iid-normal").draw(0, 12).table
    forecaster = names.entrant("empirical").policy.forecaster
    before = expected_orders(table, forecaster)
    table.seconds[8:] *= 5.0
    after = expected_orders(table, forecaster)
    assert np.isnan(before[0]).all()
    assert np.array_equal(before[1:9], after[1:9])
    assert not np.array_equal(before[9], after[9])
