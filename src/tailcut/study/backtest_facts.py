"""The results of a backtest as plain data, from which the table, the JSON and the page are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tailcut.study.facts import Spread
from tailcut.study.lessons import See
from tailcut.types import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class ForecasterFacts:
    """The results of one forecaster on one source, over all seeds; NaN where it never forecast.

    Attributes:
        name: the policies that use it, as the user wrote them; "truth" for the cluster's own law.
        forecaster: name of its class.
        kind: "bound" for the truth, otherwise "forecaster".
        log_score: nats per worker, censored where the round was cut; higher is better.
        order_crps: CRPS of the order statistics, each over its mean; lower is better.
        close_crps: CRPS of single run times up to the close, over the close; lower is better.
        cover50: share of the true run times in the central 50 % interval.
        cover90: share of the true run times in the central 90 % interval.
        pit: `(20,)` share of the true run times in each bin of the PIT histogram; 1/20 each is right.
        left_out: rounds without a forecast, which no figure counts, over all seeds.
        round_ms: mean milliseconds per round for learning and forecasting.
        cover90_by_round: `(rounds,)` the same share in each round of the first seed; NaN where there was no
            forecast.
    """

    name: str
    forecaster: str
    kind: Literal["forecaster", "bound"]
    log_score: Spread
    order_crps: Spread
    close_crps: Spread
    cover50: Spread
    cover90: Spread
    pit: tuple[float, ...]
    left_out: int
    round_ms: float
    cover90_by_round: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class BacktestFacts:
    """All results on one source.

    Attributes:
        source: file or cluster, as the user wrote it.
        about: description of the source, one line.
        workers: number of workers.
        rounds: number of rounds, warm-up included.
        warmup: number of first rounds that the figures leave out.
        seeds: number of samples of a named cluster; 1 for a file.
        see: run times that were learned from: "all" of them, or those that "closed" rounds show.
        close: the policy that closed the rounds.
        seen: mean share of the run times that the closed rounds showed, 0..1.
        forecasters: one entry each, the truth last.
        notes: warnings to show, whole sentences.
    """

    source: str
    about: str
    workers: int
    rounds: int
    warmup: int
    seeds: int
    see: See
    close: str
    seen: float
    forecasters: tuple[ForecasterFacts, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Backtest:
    """The whole outcome of `tailcut backtest`: the command that made it and what it found for each source."""

    command: str
    sources: tuple[BacktestFacts, ...]
