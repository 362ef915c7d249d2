"""Small comparisons made by hand: no simulator, only the facts a report reads."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from tailcut.study.facts import PolicyFacts, SourceFacts, Spread

_TENTHS = (1.0, 1.0, 1.0, 1.0, 0.99, 0.98, 0.97, 0.94, 0.17, 0.01)


def spread(value: float, width: float = 0.0) -> Spread:
    return Spread(value, value - width, value + width)


def policy(name: str, rate: float, **changes: object) -> PolicyFacts:
    """A policy of `rate` gradients per second, where the clairvoyant has 10."""
    fields: dict[str, object] = {
        "policy": name,
        "kind": "policy",
        "throughput": spread(rate, 0.1),
        "of_clairvoyant": spread(rate / 10, 0.01),
        "of_clairvoyant_all": spread(rate / 10.5, 0.01),
        "of_informed": spread(rate / 9.9),
        "of_best_static": spread(rate / 8),
        "of_best_deadline": spread(rate / 9),
        "mean_cutoff": 3.25,
        "idle": 0.07,
        "least_served": 0.93,
        "deciles": _TENTHS,
        "decision_ms_p50": 0.4123,
        "decision_ms_p99": 1.234,
        "round_ms": 2.5,
    }
    return PolicyFacts(**{**fields, **changes})  # type: ignore[arg-type]


def bound(name: str, rate: float, **changes: object) -> PolicyFacts:
    times: dict[str, object] = {"decision_ms_p50": None, "decision_ms_p99": None, "round_ms": None}
    return policy(name, rate, **{"kind": "bound", **times, **changes})


USUAL = (
    policy("wait-all", 5.0, idle=0.31, mean_cutoff=4.0, deciles=(1.0,) * 10),
    policy("stopping", 9.5),
    policy("backup(b=1)", 7.0, idle=0.2),
    bound("clairvoyant", 10.0),
    bound("best-static", 8.0),
    bound("best-deadline", 9.0),
)


def source(policies: tuple[PolicyFacts, ...] = USUAL, **changes: object) -> SourceFacts:
    """Four workers and thirty rounds unless told otherwise; cutoffs and closes to match."""
    seconds = changes.get("seconds", np.random.default_rng(0).lognormal(0.0, 0.5, (30, 4)))
    assert isinstance(seconds, np.ndarray)
    rounds, workers = seconds.shape
    fields: dict[str, object] = {
        "source": "trace.csv",
        "about": "four workers",
        "workers": workers,
        "rounds": rounds,
        "warmup": 0,
        "seeds": 1,
        "late": "abandon",
        "overhead": 0.0,
        "idle_before": 0.31,
        "policies": policies,
        "notes": (),
        "seconds": seconds,
        "cutoffs": {facts.policy: np.full(rounds, workers, dtype=np.int64) for facts in policies},
        "closes": {facts.policy: np.linspace(1.0, 2.0, rounds) for facts in policies},
    }
    return SourceFacts(**{**fields, **changes})  # type: ignore[arg-type]


class MakeSource(Protocol):
    def __call__(self, policies: tuple[PolicyFacts, ...] = ..., **changes: object) -> SourceFacts: ...


class MakePolicy(Protocol):
    def __call__(self, name: str, rate: float, **changes: object) -> PolicyFacts: ...


def odd_sources() -> dict[str, SourceFacts]:
    """Return unusual facts, by name, that real files and clusters may lead to."""
    nan, inf = np.nan, np.inf
    usual = np.random.default_rng(1).lognormal(0.0, 0.5, (30, 4))
    absent, broken = usual.copy(), usual.copy()
    absent[5:9] = nan
    absent[:, 2] = nan
    broken[0, 0], broken[1, 1], broken[2, 2] = inf, 0.0, -1.0
    unknown, few = spread(nan), (USUAL[1], USUAL[3])
    hollow = policy(
        "hollow",
        nan,
        of_clairvoyant=unknown,
        of_informed=None,
        of_best_static=Spread(inf, -inf, inf),
        mean_cutoff=nan,
        idle=nan,
        least_served=nan,
        deciles=(nan,) * 10,
    )
    many = tuple(policy(f"deadline(window=100, theta=0.8, seconds={i})", 9.0 - i / 10) for i in range(20))
    return {
        "one policy": source((policy("stopping", 9.0),)),
        "two workers, one round": source(few, seconds=np.array([[1.0, 2.0]])),
        "one worker, one round, one value": source(few, seconds=np.array([[1.0]])),
        "absent workers and rounds": source(few, seconds=absent),
        "all absent": source(few, seconds=np.full((30, 4), nan)),
        "infinite and impossible run times": source(few, seconds=broken),
        "equal run times": source(few, seconds=np.ones((30, 4))),
        "wide range": source(few, seconds=np.geomspace(1e-6, 1e6, 120).reshape(30, 4)),
        "unknown figures": source((hollow, *USUAL[1:3]), idle_before=nan, overhead=nan),
        "only bounds": source(USUAL[3:]),
        "no policies": source(()),
        "twenty policies": source(many, seeds=3),
        "long names": source((policy("stopping" + "x" * 300, 9.0), *USUAL), source="a/" * 200 + "b.csv"),
        "strange letters": source(
            (policy("$x_1$ \x1b[31m 漢字 [bold] \udcff", 9.0),), source="\x00\u202e\n漢.csv"
        ),
        "no decision times": source(
            (policy("p", 9.0, decision_ms_p50=None, decision_ms_p99=None, round_ms=None),)
        ),
        "no closes": source(few, cutoffs={}, closes={}),
        "infinite closes": source(few, closes={"stopping": np.full(30, inf)}),
        "late workers finish": source(late="finish", seeds=5, warmup=3, overhead=0.012, notes=("A note.",)),
    }
