"""Clusters, which generate the run times of workers in virtual time.

A cluster draws run times (`sample`) and knows the exact law of the next round given its hidden state (`law`).
The null case is `Iid`; `slow_at`, `fail_at` and `Switch` wrap other clusters; `PRESETS` holds the named ones.
"""

from tailcut.clusters.anytime import CEDAR, NIAGARA, SleepingRanks, delayed
from tailcut.clusters.base import Cluster, Sample, Split
from tailcut.clusters.churn import FailAndReturn
from tailcut.clusters.compound import Mixture, Scaled, Shifted, Sum
from tailcut.clusters.drift import Drift, Switch
from tailcut.clusters.faults import FailAt, SlowAt, fail_at, slow_at
from tailcut.clusters.groups import GroupsInTurn
from tailcut.clusters.hetero import FixedLevels, PersistentStates
from tailcut.clusters.iid import Iid, Independent
from tailcut.clusters.laws import Deterministic, Gamma, Law, ShiftedExponential, TruncatedNormal, Uniform
from tailcut.clusters.lognormal import LogNormal, ParetoTailed
from tailcut.clusters.markov import MarkovNodes
from tailcut.clusters.presets import PRESETS, Preset
from tailcut.clusters.random import RandomCluster, Recipe, random_cluster, recipe_of

__all__ = [
    "CEDAR",
    "NIAGARA",
    "PRESETS",
    "Cluster",
    "Deterministic",
    "Drift",
    "FailAndReturn",
    "FailAt",
    "FixedLevels",
    "Gamma",
    "GroupsInTurn",
    "Iid",
    "Independent",
    "Law",
    "LogNormal",
    "MarkovNodes",
    "Mixture",
    "ParetoTailed",
    "PersistentStates",
    "Preset",
    "RandomCluster",
    "Recipe",
    "Sample",
    "Scaled",
    "Shifted",
    "ShiftedExponential",
    "SleepingRanks",
    "SlowAt",
    "Split",
    "Sum",
    "Switch",
    "TruncatedNormal",
    "Uniform",
    "delayed",
    "fail_at",
    "random_cluster",
    "recipe_of",
    "slow_at",
]
