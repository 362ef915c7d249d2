"""Figures of a study formatted for people."""

from __future__ import annotations

import math
import re

from tailcut.report.formats import UNKNOWN, figure, known
from tailcut.report.words import printable
from tailcut.study.grid.facts import ArmFacts, Setting
from tailcut.study.statistics import Interval

INFINITE = "∞"
_SHARES = ("accuracy",)
"""Figures that are parts of a whole and are formatted in per cent."""


def duration(value: float) -> str:
    """Format seconds of virtual time.

    Example:
        >>> duration(41.23), duration(1234.5), duration(0.0123), duration(math.inf)
        ('41.2 s', '1234 s', '12.3 ms', '∞')
    """
    if math.isinf(value):
        return INFINITE
    if not known(value):
        return UNKNOWN
    return f"{figure(1000 * value)} ms" if 0 < value < 0.1 else f"{figure(value)} s"


def size(value: float) -> str:
    """Format bytes in decimal units.

    Example:
        >>> size(0), size(950), size(1.234e9)
        ('0', '950 B', '1.23 GB')
    """
    if not known(value):
        return UNKNOWN
    for unit, least in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= least:
            return f"{figure(value / least)} {unit}"
    return f"{value:.0f} B" if value else "0"


def quantity(value: float) -> str:
    """Format a count that is a mean over seeds; large counts are whole numbers."""
    return f"{value:.0f}" if known(value) and value >= 100 else figure(value, 2)


def span(interval: Interval, unit: str = "") -> str:
    """Format both ends of an interval, with the unit once.

    Example:
        >>> span(Interval(38.1, 44.0), " s"), span(Interval(0.9, math.inf))
        ('38.1–44.0 s', '0.900–∞')
    """
    if math.isnan(interval.low) or math.isinf(interval.low):
        return UNKNOWN if math.isnan(interval.low) else INFINITE
    ends = [INFINITE if math.isinf(end) else figure(end) for end in (interval.low, interval.high)]
    return f"{ends[0]}–{ends[1]}{unit}"


def value_of(name: str, value: float) -> str:
    """Format a figure of a task.

    Example:
        >>> value_of("accuracy", 0.96), value_of("accuracy", 0.9725), value_of("loss", 0.35)
        ('96 %', '97.2 %', '0.350')
    """
    if name not in _SHARES:
        return figure(value).replace("-", "−")
    if not known(value):
        return UNKNOWN
    return f"{100 * value:.1f}".removesuffix(".0") + " %"


def goal(setting: Setting) -> str:
    """Format the target in words: `96 % accuracy`, `a loss of 0.35`."""
    name = printable(setting.figure).replace("_", " ")
    if setting.figure in _SHARES:
        return f"{value_of(setting.figure, setting.value)} {name}"
    return f"a {name} of {setting.value:.3g}".replace("-", "−")


def time_to_target(facts: ArmFacts) -> str:
    """Format the mean time to target if all runs reached it, otherwise a lower bound or `diverged`.

    Example: `41.2 s`, `≥ 88.0 s`, `diverged`.
    """
    if facts.reached == facts.runs:
        return duration(facts.time.mean)
    if facts.diverged == facts.runs:
        return "diverged"
    return f"≥ {duration(facts.time.at_least)}" if math.isfinite(facts.time.at_least) else INFINITE


def reached(facts: ArmFacts) -> str:
    """Format the number of runs that reached the target."""
    return f"{facts.reached} of {facts.runs}"


def policy(facts: ArmFacts) -> str:
    """Format the policy that tuning chose, with the name of a model's file but not its folder."""
    return ", ".join(re.sub(r"=[^:=]*/([^:/]*)", r"=\1", printable(each)) for each in facts.policies)
