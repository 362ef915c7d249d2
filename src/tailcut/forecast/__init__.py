"""Forecasters: run times in, belief kept, forecasts out."""

from tailcut.forecast.base import Forecaster
from tailcut.forecast.bayes import Bayes
from tailcut.forecast.carry import carry_over
from tailcut.forecast.none import NoForecast
from tailcut.forecast.normal import Normal
from tailcut.forecast.recent import Recent
from tailcut.forecast.trend import Trend
from tailcut.forecast.truth import Truth

__all__ = ["Bayes", "Forecaster", "NoForecast", "Normal", "Recent", "Trend", "Truth", "carry_over"]
