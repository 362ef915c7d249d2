"""Plots with one row per arm (time to target, waiting and staleness, traffic), and gradients by worker."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tailcut.report.study.ranking import ranked
from tailcut.study.grid.facts import CaseFacts
from tailcut.types import FloatArray

MOST_WORKERS = 400
"""Most points of a line over workers."""


class Seeds(NamedTuple):
    """Seconds of an arm's runs: times to target of those that reached it, and ends of the others."""

    reached: FloatArray
    ended: FloatArray


class TimesPlot(NamedTuple):
    """Time to target in seconds. Arrays are `(arms,)`.

    `mean` is a lower bound where `whole` is false, and NaN where a run diverged; `low` and `high` are the
    ends of the interval, infinite or NaN where unknown.
    """

    arms: tuple[str, ...]
    mean: FloatArray
    whole: tuple[bool, ...]
    low: FloatArray
    high: FloatArray
    seeds: tuple[Seeds, ...]


class IdlePlot(NamedTuple):
    """Share of the time that workers wait, and staleness; both `(arms,)`."""

    arms: tuple[str, ...]
    idle: FloatArray
    staleness: FloatArray


class TrafficPlot(NamedTuple):
    """Bytes of gradients that were used and that came too late; both `(arms,)`."""

    arms: tuple[str, ...]
    used: FloatArray
    in_vain: FloatArray


class ServedPlot(NamedTuple):
    """Accepted gradients over the mean of all workers, workers sorted: `(arms, points)` at `(points,)` per cent."""

    arms: tuple[str, ...]
    at: FloatArray
    shares: FloatArray


def times_plot(case: CaseFacts) -> TimesPlot:
    """Return the time to target with its interval and every seed."""
    some = ranked(case)
    least = np.array([facts.time.at_least for facts in some])
    return TimesPlot(
        tuple(facts.arm for facts in some),
        np.where(np.isfinite(least), least, np.nan),
        tuple(facts.reached == facts.runs for facts in some),
        np.array([facts.time.interval.low for facts in some]),
        np.array([facts.time.interval.high for facts in some]),
        tuple(_seeds(facts.time.each, facts.ends) for facts in some),
    )


def idle_plot(case: CaseFacts) -> IdlePlot:
    """Return the share of time spent waiting, and the staleness."""
    some = ranked(case)
    return IdlePlot(
        tuple(facts.arm for facts in some),
        np.array([facts.idle for facts in some]),
        np.array([facts.staleness for facts in some]),
    )


def traffic_plot(case: CaseFacts) -> TrafficPlot:
    """Return the bytes of gradients that arrived in a run."""
    some = ranked(case)
    return TrafficPlot(
        tuple(facts.arm for facts in some),
        np.array([facts.bytes_sent - facts.bytes_in_vain for facts in some]),
        np.array([facts.bytes_in_vain for facts in some]),
    )


def served_plot(case: CaseFacts) -> ServedPlot:
    """Return the accepted gradients by worker, arms in the order of the study."""
    workers = case.setting.workers
    places = np.unique(np.linspace(0, workers - 1, min(workers, MOST_WORKERS)).round().astype(int))
    at = 100.0 * places / max(workers - 1, 1)
    shares = np.array([facts.shares[places] for facts in case.arms])
    return ServedPlot(tuple(facts.arm for facts in case.arms), at, shares)


def _seeds(each: tuple[float, ...], ends: tuple[float, ...]) -> Seeds:
    times = np.array(each)
    there = np.isfinite(times)
    return Seeds(times[there], np.array(ends)[~there])
