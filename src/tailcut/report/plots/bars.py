"""Plots with one row per policy: throughput against the bounds, idle time, acceptance by decile."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tailcut.report.formats import known
from tailcut.report.labels import labels
from tailcut.report.ranking import bound, everyone, policies
from tailcut.study.facts import PolicyFacts, SourceFacts
from tailcut.types import BoolArray, FloatArray

DECILES = 10


class Rows(NamedTuple):
    """The names of a plot's rows from top to bottom: policies by throughput, then bounds."""

    names: tuple[str, ...]
    policies: int
    """The number of names that are policies; the rest are bounds."""


class Line(NamedTuple):
    """A bound drawn across all rows."""

    name: str
    share: float


class SharesPlot(NamedTuple):
    """Throughput as a share of the clairvoyant's. Arrays are `(rows,)`, NaN where unknown."""

    rows: Rows
    mean: FloatArray
    least: FloatArray
    most: FloatArray
    whiskers: bool
    lines: tuple[Line, ...]
    of_what: str


class IdlePlot(NamedTuple):
    """Share of the time a worker waits: `before` when all are waited for, `after` is `(rows,)`."""

    rows: Rows
    before: float
    after: FloatArray


class DecilesPlot(NamedTuple):
    """Share of gradients accepted, by run-time decile.

    `shares` is `(rows, 10)`, fastest tenth first, NaN where unknown; `scarce` marks shares below half of the
    row's mean.
    """

    rows: Rows
    shares: FloatArray
    scarce: BoolArray


def rows(source: SourceFacts) -> Rows:
    """Return the rows that all of these plots share."""
    names = [facts.policy for facts in everyone(source)]
    short = labels(names)
    return Rows(tuple(short[name] for name in names), len(policies(source)))


def shares_plot(source: SourceFacts) -> SharesPlot:
    """Return the throughput of each row as a share of the clairvoyant's."""
    spreads = [facts.of_clairvoyant for facts in everyone(source)]
    return SharesPlot(
        rows(source),
        _finite([spread.mean for spread in spreads]),
        _finite([spread.least for spread in spreads]),
        _finite([spread.most for spread in spreads]),
        source.seeds > 1,
        _lines(source),
        "abandon bound" if source.late == "finish" else "clairvoyant",
    )


def idle_plot(source: SourceFacts) -> IdlePlot:
    """Return the idle share under waiting for all and under each policy."""
    return IdlePlot(rows(source), source.idle_before, _finite([facts.idle for facts in everyone(source)]))


def deciles_plot(source: SourceFacts) -> DecilesPlot:
    """Return the acceptance by run-time decile."""
    shares = np.full((len(source.policies), DECILES), np.nan)
    for row, facts in zip(shares, everyone(source), strict=True):
        given = facts.deciles[:DECILES]
        row[: len(given)] = _finite(given)
    seen = np.isfinite(shares)
    mean = np.where(seen, shares, 0.0).sum(axis=1) / np.maximum(seen.sum(axis=1), 1)
    return DecilesPlot(rows(source), shares, seen & (np.where(seen, shares, 0.0) < mean[:, None] / 2))


def _lines(source: SourceFacts) -> tuple[Line, ...]:
    lines = (
        Line(name, _of_clairvoyant(source, name)) for name in ("best-static", "best-deadline", "informed")
    )
    return tuple(line for line in lines if known(line.share))


def _of_clairvoyant(source: SourceFacts, name: str) -> float:
    listed = bound(source, name)
    if listed is not None:
        return listed.of_clairvoyant.mean
    # The bound has no row of its own, but it follows from a policy's two shares.
    return next(
        (_implied(facts, name) for facts in source.policies if known(_implied(facts, name))), math.nan
    )


def _implied(facts: PolicyFacts, name: str) -> float:
    of_bound = {
        "best-static": facts.of_best_static,
        "best-deadline": facts.of_best_deadline,
        "informed": facts.of_informed,
    }[name]
    return (
        facts.of_clairvoyant.mean / of_bound.mean if of_bound is not None and of_bound.mean > 0 else math.nan
    )


def _finite(values: list[float] | tuple[float, ...]) -> FloatArray:
    array = np.array(values, dtype=np.float64)
    return np.where(np.isfinite(array), array, np.nan)
