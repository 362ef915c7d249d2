"""Trend: levels that adapt, factors that are shared, residuals from the recent empirical distribution.

    log run time = factor of the worker's group + the worker's own law or, often, near its last run time

`cells` is the logarithmic grid, `own` each worker's law backed by all residuals, `stay` persistence,
`factors` what groups share, `belief` all of that together, `trend` the forecaster made of it.
"""

from tailcut.forecast.trend.belief import TrendBelief
from tailcut.forecast.trend.trend import Trend

__all__ = ["Trend", "TrendBelief"]
