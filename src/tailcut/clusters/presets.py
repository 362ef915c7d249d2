"""The named clusters, as in `tailcut compare NAME` and in the documentation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tailcut.clusters.anytime import CEDAR, NIAGARA, Delays, SleepingRanks, delayed
from tailcut.clusters.base import Cluster
from tailcut.clusters.checks import probability, require, whole
from tailcut.clusters.churn import FailAndReturn
from tailcut.clusters.compound import Mixture, Scaled
from tailcut.clusters.drift import Drift, Switch
from tailcut.clusters.groups import GroupsInTurn
from tailcut.clusters.hetero import FixedLevels, PersistentStates
from tailcut.clusters.iid import Iid, Independent
from tailcut.clusters.laws import ShiftedExponential, TruncatedNormal
from tailcut.clusters.lognormal import LogNormal, ParetoTailed
from tailcut.clusters.markov import MarkovNodes
from tailcut.clusters.random import random_cluster
from tailcut.types import Seconds


@dataclass(frozen=True, slots=True)
class Preset:
    """A named cluster.

    Attributes:
        name: the name of the cluster.
        about: its description in one line.
        factory: makes it; all parameters are keywords with defaults, `n` (workers) and `overhead` included.
        rounds: default number of rounds that a comparison draws.

    Example:
        >>> PRESETS["demo8"].factory(n=12).workers
        12
    """

    name: str
    about: str
    factory: Callable[..., Cluster]
    rounds: int = 1000


def _iid_normal(*, n: int = 32, mu: Seconds = 1.0, sigma: Seconds = 0.2, overhead: Seconds = 0.0) -> Iid:
    return Iid(TruncatedNormal(mu, sigma), n, overhead)


def _iid_lognormal(
    *, n: int = 158, median: Seconds = 1.0, sigma: float = 0.35, overhead: Seconds = 0.0
) -> Iid:
    return Iid(LogNormal(median, sigma), n, overhead)


def _iid_exponential(
    *, n: int = 158, shift: Seconds = 1.0, scale: Seconds = 0.25, overhead: Seconds = 0.0
) -> Iid:
    return Iid(ShiftedExponential(shift, scale), n, overhead)


def _iid_pareto(
    *,
    n: int = 32,
    median: Seconds = 1.0,
    sigma: float = 0.1,
    alpha: float = 1.5,
    tail: float = 0.05,
    overhead: Seconds = 0.0,
) -> Iid:
    return Iid(ParetoTailed(median, sigma, alpha, tail), n, overhead)


def _demo8(
    *, n: int = 8, sigma: float = 0.03, p_slow: float = 0.1, factor: float = 9.0, overhead: Seconds = 0.0
) -> Iid:
    usual = LogNormal(1.0, sigma)
    return Iid(Mixture((usual, Scaled(usual, factor)), (1 - p_slow, p_slow)), n, overhead)


def _some_slower(
    *, n: int, slower: int, factor: float, at: int, sigma: float = 0.1, overhead: Seconds = 0.0
) -> Switch:
    """Make a cluster whose first `slower` workers are `factor` times slower from round `at` on."""
    whole("slower", slower, 0)
    require(slower <= n, f"slower must be at most n = {n}", slower, "lower it or raise n")
    usual = LogNormal(1.0, sigma)
    after = Independent((Scaled(usual, factor),) * slower + (usual,) * (n - slower))
    return Switch(Iid(usual, n), after, at, overhead)


def _sudden_change(
    *,
    n: int = 32,
    share: float = 0.3,
    factor: float = 3.0,
    at: int = 300,
    sigma: float = 0.1,
    overhead: Seconds = 0.0,
) -> Switch:
    probability("share", share)
    slower = round(share * n)
    return _some_slower(n=n, slower=slower, factor=factor, at=at, sigma=sigma, overhead=overhead)


def _anytime(
    delays: Delays, *, base: Seconds, n: int = 32, sigma: float = 0.02, overhead: Seconds = 0.0
) -> Iid:
    """Make a cluster with the paper's delays, added to compute times of our own of the same order."""
    return Iid(delayed(LogNormal(base, sigma), delays), n, overhead)


_nodes = partial(MarkovNodes, rho=0.9, sd=0.08, noise=0.05, p_spike=0.01)
_trap = partial(_some_slower, n=10, slower=8, factor=3.0, at=100)

_ALL = (
    Preset(
        "iid-normal", "32 workers, i.i.d. normal run times with coefficient of variation 0.2", _iid_normal
    ),
    Preset("iid-lognormal", "158 workers, i.i.d. log-normal run times, sigma 0.35", _iid_lognormal),
    Preset("iid-exponential", "158 workers, i.i.d. 1 s plus an exponential of mean 0.25 s", _iid_exponential),
    Preset(
        "iid-pareto", "32 workers, i.i.d. narrow log-normal body, Pareto tail in 5 % of cases", _iid_pareto
    ),
    Preset("demo8", "8 workers, each 10 % likely to be 9 times slow in each round", _demo8),
    Preset("xeon158", "158 workers on 4 nodes that slow down at random; spikes", partial(_nodes, n=158)),
    Preset("knl2175", "2175 workers on 32 nodes, as xeon158", partial(_nodes, n=2175, node_count=32), 200),
    Preset("nodes16", "16 workers on 4 nodes, as xeon158", partial(_nodes, n=16)),
    Preset(
        "groups-in-turn", "158 workers in 4 groups, each 2.5 times slow for 25 rounds in turn", GroupsInTurn
    ),
    Preset(
        "persistent", "32 workers, a fifth of them 2 to 4 times slow for some 200 rounds", PersistentStates
    ),
    Preset("fixed-mix", "32 workers, each with its own speed for good", FixedLevels),
    Preset("drift", "32 workers whose common level swings between 1 and 2 every 500 rounds", Drift),
    Preset("sudden-change", "32 workers, 30 % of them 3 times slower from round 300 on", _sudden_change),
    Preset("trap10", "10 workers, 8 of them 3 times slower for good from round 100 on", _trap, 500),
    Preset("eager", "16 workers, in each round two random ones sleep 320 ms (eager-SGD)", SleepingRanks),
    Preset(
        "niagara",
        "32 workers, 1 s plus Anytime Minibatch delays of 0, 2 or 5 s",
        partial(_anytime, NIAGARA, base=1.0),
    ),
    Preset(
        "cedar",
        "32 workers, 0.25 s plus Anytime Minibatch delays of 0 to 0.25 s",
        partial(_anytime, CEDAR, base=0.25),
    ),
    Preset(
        "fail-and-return", "16 workers that fail (1 % a round) and return after some 20 rounds", FailAndReturn
    ),
    Preset("random", "size, laws and trouble all drawn from seed=K", random_cluster, 300),
)

PRESETS: dict[str, Preset] = {preset.name: preset for preset in _ALL}
"""All named clusters by name."""
