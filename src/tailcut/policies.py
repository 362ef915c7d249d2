"""Ready-made policies, each one line: a forecaster, a rule, and what wraps it."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, cast

from tailcut.errors import ParameterError
from tailcut.extras import require
from tailcut.fitting.bayes_file import read_bayes, read_prior
from tailcut.forecast import Bayes, NoForecast, Normal, Recent, Trend
from tailcut.forecast.bayes.deep import Deep
from tailcut.policy import Policy
from tailcut.rules import (
    AdaSync,
    Ahead,
    Backup,
    Bandit,
    Dbw,
    Deadline,
    Explore,
    Fair,
    Floor,
    MicroDeadline,
    Regression,
    Rule,
    Stopping,
    Valued,
    WaitAll,
    WarmUp,
)

ObjectiveName: TypeAlias = Literal["count", "gain"]
"""The objective: the number of gradients, or the expected decrease of the loss, as measured so far."""
OPTIMISM, CROWD = 0.3, 16
"""Settings of the rule of `bayes`: the share by which few workers are hoped to bring more than expected, and the number
of workers of whom one early arrival says little."""
EmissionName: TypeAlias = Literal["normal", "mixture"]
"""The law of a worker's run time given the hidden state of `bdsgd`: one normal law as published, or a mixture."""
PARTS = 3
"""Normal laws in the mixture."""
IN_RUN = 100
"""First rounds of a run that `bdsgd` trains itself on where nothing else is said."""
OLDEST = 4
"""Rounds by which a gradient may lag behind where staleness is bounded and nothing else is said."""


def wait_all() -> Policy:
    """Plain synchronous SGD: wait for everybody."""
    return Policy(NoForecast(), WaitAll())


def backup(b: int | None = None, c: int | None = None, share: float | None = None) -> Policy:
    """Wait for n - b, for c or for a share of the workers (Chen et al. 2016); by default 96 %."""
    if b is None and c is None and share is None:
        share = 0.96
    return Policy(NoForecast(), Backup(b=b, c=c, share=share))


def deadline(seconds: float = 1.0) -> Policy:
    """Close after a fixed number of seconds (Anytime Minibatch)."""
    return Policy(NoForecast(), Deadline(seconds=seconds))


def elfving(window: int = 20, see: str = "all") -> Policy:
    """I.i.d. normal run times with recent moments, Elfving's formula, cutoff chosen ahead; sees all run times.

    The baseline of Teng & Wood (2018): c = argmax c / E[x_(c)] with E[x_(c)] = μ + σ·Φ⁻¹((c − π/8)/(n − π/4 + 1)), but
    no less than the fastest run time of the window, since the paper does not say what it does below 0.
    """
    return Policy(Normal(window=window), WarmUp(Ahead()), sees_all=_sees_all(see))


def empirical(window: int = 20, see: str = "all") -> Policy:
    """Recent empirical distribution, cutoff chosen ahead; sees all run times."""
    return Policy(Recent(window=window), WarmUp(Ahead()), sees_all=_sees_all(see))


def regression(window: int = 50, lags: int = 3, see: str = "all") -> Policy:
    """Ridge regression of the best cutoff on the last rounds, cutoff chosen ahead; sees all run times."""
    return Policy(NoForecast(), Regression(window=window, lags=lags), sees_all=_sees_all(see))


def bdsgd(
    model: str | None = None,
    window: int = 10,
    see: str = "all",
    train: int | None = None,
    seed: int = 0,
    emission: EmissionName = "normal",
    retrain: bool = False,
) -> Policy:
    """Deep state-space model of all workers (Teng & Wood 2018), cutoff chosen ahead; model=FILE, or trained once.

    Without a file a comparison or a study trains it beforehand, on `train` (400) rounds that it does not measure.
    Where there are none, as in a live run, it waits for all in its first `train` (100) rounds, as the paper's
    collection phase does, and trains on them. A file brings its own window and emission. With see=closed cut workers
    are imputed as published. Not published, but ours: emission=mixture, a mixture of three normal laws for each
    worker; retrain=true, which trains anew when forecasts have become worse.
    """
    sees_all = _sees_all(see)
    require("The policy bdsgd", "torch")
    from tailcut.fitting.bdsgd import BdsgdSettings
    from tailcut.fitting.bdsgd_file import read_bdsgd
    from tailcut.fitting.fit_once import BEFOREHAND, FitOnce
    from tailcut.fitting.refit import Refit
    from tailcut.forecast.bdsgd.forecaster import Bdsgd

    if model is not None and emission != "normal":
        raise ParameterError(
            f"emission={emission} is a property of the model, but model={model} is a trained one. Give one of the two."
        )
    read = None if model is None else read_bdsgd(model)
    settings = BdsgdSettings(window=window, parts=1 if emission == "normal" else PARTS)
    in_run, beforehand = (IN_RUN, BEFOREHAND) if train is None else (train, train)
    if retrain:
        if read is not None:
            settings = BdsgdSettings(window=read.sizes.window, parts=read.sizes.parts)
        refit = Refit(read, in_run, settings, seed=seed, beforehand=beforehand)
        # Rounds to train on must be whole. A policy that is given all run times afterwards need not wait for
        # them.
        return Policy(refit, WarmUp(Ahead()) if sees_all else Ahead(), sees_all=sees_all)
    if read is not None:
        return Policy(Bdsgd(read, seed=seed), WarmUp(Ahead()), sees_all=sees_all)
    return Policy(FitOnce(in_run, settings, seed=seed, beforehand=beforehand), Ahead(), sees_all=sees_all)


def bandit(discount: float = 0.99) -> Policy:
    """Discounted UCB over cutoffs, rewarded with measured throughput."""
    return Policy(NoForecast(), Bandit(discount=discount))


def drop_compute(micro: int = 8, follow: bool = False, window: int = 50) -> Policy:
    """Workers stop at a threshold between micro-batches (DropCompute); follow=true re-chooses it every round."""
    rule = MicroDeadline(micro=micro, follow=follow, window=window)
    forecaster = Trend() if follow else NoForecast()
    return Policy(forecaster, rule, micro=micro)


def dbw(window: int = 20, average: int = 5, see: str = "all") -> Policy:
    """Largest decrease of the loss per second, chosen ahead (DBW, Xu et al. 2020); sees all run times."""
    return Policy(NoForecast(), Dbw(window=window, average=average), sees_all=_sees_all(see))


def adasync(share: float = 0.25, memory: float = 10.0) -> Policy:
    """Wait for more workers as the loss falls, K0·√(F0/F), K0 a share of them (AdaSync, Dutta et al.)."""
    return Policy(NoForecast(), AdaSync(share=share, memory=memory))


def trend(
    memory: float = 80.0,
    floor: int = 1,
    explore: bool = True,
    fair: int = 0,
    objective: ObjectiveName = "count",
) -> Policy:
    """Trend forecast (levels, shared factors, residuals; exact censoring), cutoff chosen ahead."""
    rule = WarmUp(_striving(Ahead(), objective))
    return Policy(Trend(memory=memory), _wrapped(rule, floor, explore, fair, "wait"))


def stopping(
    memory: float = 80.0,
    skip: float = 0.5,
    floor: int = 1,
    explore: bool = True,
    fair: int = 0,
    how: str = "wait",
    objective: ObjectiveName = "count",
) -> Policy:
    """Trend forecast, decided during the round: close as soon as waiting no longer pays."""
    rule = WarmUp(_striving(Stopping(skip=skip), objective))
    return Policy(Trend(memory=memory), _wrapped(rule, floor, explore, fair, how))


def bayes(
    model: str | None = None,
    deep: bool = True,
    scenarios: bool = True,
    skip: float = 0.5,
    floor: int = 1,
    explore: bool = True,
    fair: int = 0,
    how: str = "wait",
    objective: ObjectiveName = "count",
) -> Policy:
    """Learned joint model (filters, shared factors, a pre-trained net), decided during the round."""
    if model is not None and not deep:
        raise ParameterError(
            f"model={model} is the deep part's, but deep=false leaves that out. Give one of the two."
        )
    forecaster = Bayes(deep=_deep(model) if deep else None, scenarios=scenarios)
    rule = WarmUp(_striving(Stopping(skip=skip, optimism=OPTIMISM, crowd=CROWD), objective))
    return Policy(forecaster, _wrapped(rule, floor, explore, fair, how))


def _deep(model: str | None) -> Deep:
    """The deep part in a file, or the one that comes with the package."""
    return read_prior() if model is None else read_bayes(model)


def batch_sync(share: float = 0.5) -> Policy:
    """Update after the first mini-batches of this version from anybody (K-batch-sync)."""
    return Policy(NoForecast(), Backup(share=share))


def stale_sync(share: float = 0.5) -> Policy:
    """Update after the first workers, of whatever version (K-async)."""
    return Policy(NoForecast(), Backup(share=share))


def bounded(share: float = 0.5, most: int | None = OLDEST) -> Policy:
    """Update after the first workers, of this version or at most so many rounds older."""
    if most is not None and most < 0:
        raise ParameterError(
            f"most must be 0 or more rounds, but got {most}. Give 0 to drop whatever is late, none for no bound."
        )
    return Policy(NoForecast(), Backup(share=share))


def softsync(k: int = 4) -> Policy:
    """Update after n / k gradients of whatever version (k-softsync, Zhang et al. 2016)."""
    if k < 1:
        raise ParameterError(f"k must be at least 1, but got {k}. Try k=4.")
    return Policy(NoForecast(), Backup(share=1.0 / k))


def asynchronous() -> Policy:
    """Update after every gradient, however stale."""
    return Policy(NoForecast(), Backup(c=1))


def _striving(rule: Rule[Any, Any], objective: ObjectiveName) -> Rule[Any, Any]:
    """The rule, for throughput or for the decrease of the loss."""
    if objective not in ("count", "gain"):
        raise ParameterError(
            f"objective must be 'count' or 'gain', but got {objective!r}. Give 'count' for throughput."
        )
    return Valued(rule) if objective == "gain" else rule


def _wrapped(rule: Rule[Any, Any], floor: int, explore: bool, fair: int, how: str) -> Rule[Any, Any]:
    """Exploration, then a floor, then fairness, from the inside out."""
    if floor < 1:
        raise ParameterError(f"floor must be at least 1, but got {floor}. Give 1 to ask for nothing.")
    if fair < 0:
        raise ParameterError(f"fair must be 0 or more rounds, but got {fair}. Give 0 to ask for nothing.")
    if how not in ("wait", "stale"):
        raise ParameterError(
            f"how must be 'wait' or 'stale', but got {how!r}. Give 'wait' for fresh gradients."
        )
    if explore:
        rule = Explore(rule)
    if floor > 1:
        rule = Floor(rule, least=floor)
    if fair:
        rule = Fair(rule, most_rounds=fair, how=cast(Literal["wait", "stale"], how))
    return rule


def _sees_all(see: str) -> bool:
    if see not in ("all", "closed"):
        raise ParameterError(
            f"see must be 'all' (every run time, late ones too) or 'closed' (what a cut round shows), but got {see!r}. "
            "Try see=all."
        )
    return see == "all"
