"""Simulated clusters to pre-train on: all kinds, with parameters drawn at random, none of the named ones."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import get_context

import numpy as np

from tailcut.clusters.base import Cluster
from tailcut.clusters.churn import FailAndReturn
from tailcut.clusters.compound import Mixture, Scaled
from tailcut.clusters.drift import Drift, Switch
from tailcut.clusters.groups import GroupsInTurn
from tailcut.clusters.hetero import FixedLevels, PersistentStates
from tailcut.clusters.iid import Iid, Independent
from tailcut.clusters.laws import Law, ShiftedExponential, TruncatedNormal, Uniform
from tailcut.clusters.lognormal import LogNormal, ParetoTailed
from tailcut.clusters.markov import MarkovNodes
from tailcut.fitting.samples import Samples
from tailcut.study.deep_samples import samples_of
from tailcut.table import Table

ROUNDS = 200
"""Rounds of a usual cluster."""
LONG_EVERY, LONGER = 5, 3
"""Every fifth cluster has three times the rounds: in it workers are cut for hundreds of rounds."""
MOST_SAMPLES = 4000
"""Most samples taken from one cluster."""
HELD_OUT_EVERY = 6
"""Every sixth cluster is held out whole, to validate on clusters that were never seen."""


def simulated_samples(
    clusters: int, seed: int, progress: Callable[[], None] = lambda: None, rounds: int = ROUNDS
) -> Samples:
    """Return samples from random clusters, drawn on all cores; they do not depend on the number of cores.

    Args:
        clusters: number of clusters.
        seed: seed of all random numbers.
        progress: called after each cluster.
        rounds: rounds of a usual cluster.
    """
    parts: list[Samples] = []
    with get_context("spawn").Pool(initializer=_alone) as pool:
        for part in pool.imap(_one, [(seed, index, rounds) for index in range(clusters)]):
            parts.append(part)
            progress()
    return Samples(
        np.concatenate([part.features for part in parts]),
        np.concatenate([part.bins for part in parts]),
        np.concatenate([part.held_out for part in parts]),
    )


def _alone() -> None:
    """Ignore Ctrl-C in this process, since its parent ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _one(which: tuple[int, int, int]) -> Samples:
    """Return samples of one cluster, at most `MOST_SAMPLES`: so all clusters have similar weights."""
    seed, index, rounds = which
    rng = np.random.default_rng((seed, index))
    is_long = index % LONG_EVERY == LONG_EVERY - 1
    one = samples_of(random_table(LONGER * rounds if is_long else rounds, rng))
    kept = np.sort(rng.permutation(len(one))[:MOST_SAMPLES])
    held_out = np.full(len(kept), index % HELD_OUT_EVERY == HELD_OUT_EVERY - 1)
    return Samples(one.features[kept].astype(np.float32), one.bins[kept], held_out)


def random_table(rounds: int, rng: np.random.Generator) -> Table:
    """Return run times of a random cluster, some with uneven workers, a common load, or repeated values."""
    table = random_cluster(rng).sample(rounds, rng).table
    seconds = table.seconds.copy()
    if rng.random() < 0.3:
        seconds *= np.exp(rng.uniform(0.02, 0.5) * rng.standard_normal(table.workers))
    if rng.random() < 0.25:
        steps = (
            (rng.random(rounds) < rng.uniform(0.01, 0.1))
            * rng.uniform(0.1, 0.7)
            * rng.standard_normal(rounds)
        )
        seconds *= np.exp(np.clip(np.cumsum(steps), -1.5, 1.5))[:, None]
    if rng.random() < 0.25:
        held = rng.random(seconds.shape) < rng.uniform(0.2, 0.7)
        for row in range(1, rounds):
            there = held[row] & ~np.isnan(seconds[row]) & ~np.isnan(seconds[row - 1])
            seconds[row, there] = seconds[row - 1, there]
    return replace(table, seconds=seconds)


def random_cluster(rng: np.random.Generator) -> Cluster:
    """Return one cluster of 4 to 200 workers."""
    n = int(np.exp(rng.uniform(np.log(4), np.log(201))))
    kind = int(rng.integers(8))
    sigma = float(np.exp(rng.uniform(np.log(0.01), np.log(0.4))))
    if kind == 0:
        return Iid(_law(rng), n)
    if kind == 1:
        nodes = int(rng.integers(2, 9))
        return MarkovNodes(
            n=max(n, nodes),
            node_count=nodes,
            p_slow=rng.uniform(0.005, 0.08),
            p_recover=rng.uniform(0.02, 0.2),
            factor=rng.uniform(1.3, 6.0),
            rho=rng.uniform(0.5, 0.98),
            sd=rng.uniform(0.0, 0.2),
            noise=rng.uniform(0.01, 0.15),
            p_spike=rng.uniform(0.0, 0.03),
            alpha=rng.uniform(1.2, 3.0),
        )
    if kind == 2:
        low = rng.uniform(1.2, 3.0)
        return PersistentStates(
            n=n,
            slow_share=rng.uniform(0.05, 0.6),
            dwell=float(np.exp(rng.uniform(np.log(5), np.log(300)))),
            low=low,
            high=low * rng.uniform(1.0, 3.0),
            sigma=sigma,
        )
    if kind == 3:
        return FixedLevels(
            n=n, spread=rng.uniform(0.02, 0.8), sigma=sigma, level_seed=int(rng.integers(2**31))
        )
    if kind == 4:
        return Drift(n=n, factor=rng.uniform(1.2, 3.0), period=int(rng.integers(60, 600)), sigma=sigma)
    if kind == 5:
        return GroupsInTurn(
            n=max(n, 6),
            groups=int(rng.integers(2, 6)),
            period=int(rng.integers(5, 60)),
            factor=rng.uniform(1.3, 5.0),
            sigma=sigma,
        )
    if kind == 6:
        return FailAndReturn(
            n=max(n, 4), p_fail=rng.uniform(0.002, 0.03), p_return=rng.uniform(0.02, 0.2), sigma=sigma
        )
    slower = int(rng.integers(1, n))
    usual = _law(rng)
    after = Independent((Scaled(usual, rng.uniform(1.3, 5.0)),) * slower + (usual,) * (n - slower))
    return Switch(Iid(usual, n), after, int(rng.integers(40, 160)))


def _law(rng: np.random.Generator) -> Law:
    """Return one law of run times with a body around 1 s."""
    sigma = float(np.exp(rng.uniform(np.log(0.01), np.log(0.7))))
    kind = int(rng.integers(6))
    if kind == 0:
        return LogNormal(1.0, sigma)
    if kind == 1:
        return ShiftedExponential(rng.uniform(0.2, 2.0), rng.uniform(0.05, 1.0))
    if kind == 2:
        return TruncatedNormal(1.0, rng.uniform(0.02, 0.35))
    if kind == 3:
        return ParetoTailed(1.0, min(sigma, 0.3), rng.uniform(1.1, 3.0), rng.uniform(0.01, 0.15))
    if kind == 4:
        low = rng.uniform(0.3, 1.0)
        return Uniform(low, low * rng.uniform(1.1, 5.0))
    usual, slow = LogNormal(1.0, min(sigma, 0.2)), rng.uniform(0.01, 0.4)
    return Mixture((usual, Scaled(usual, rng.uniform(1.5, 12.0))), (1.0 - slow, slow))
