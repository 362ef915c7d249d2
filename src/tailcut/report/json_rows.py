"""The comparison for other programs: one flat object per source and policy, finite numbers or null only."""

from __future__ import annotations

import math
from typing import Any

from tailcut.study.facts import Comparison, PolicyFacts, SourceFacts, Spread


def as_json(comparison: Comparison) -> list[dict[str, Any]]:
    """Return one object per source and policy, in the order of the comparison, ready for `json.dumps`.

    When late workers finish, the clairvoyant is no bound: the `of_clairvoyant` keys are then null, and
    `of_abandon_bound` keys are added.
    """
    return [_row(source, facts) for source in comparison.sources for facts in source.policies]


def _row(source: SourceFacts, facts: PolicyFacts) -> dict[str, Any]:
    return {
        **_setting(source),
        "policy": facts.policy,
        "kind": facts.kind,
        **_spread("throughput", facts.throughput),
        **_to_clairvoyant(source.late, facts),
        "of_informed": _number(facts.of_informed.mean if facts.of_informed else None),
        "of_best_static": _number(facts.of_best_static.mean),
        "of_best_deadline": _number(facts.of_best_deadline.mean),
        **_spread("table_score", facts.table_score),
        **_spread("clock_score", facts.clock_score),
        "mean_cutoff": _number(facts.mean_cutoff),
        "idle": _number(facts.idle),
        "idle_before": _number(source.idle_before),
        "given_back": _number(source.idle_before - facts.idle),
        "least_served": _number(facts.least_served),
        "acceptance_by_decile": [_number(share) for share in facts.deciles],
        "decision_ms_p50": _number(facts.decision_ms_p50),
        "decision_ms_p99": _number(facts.decision_ms_p99),
        "round_ms": _number(facts.round_ms),
        "weights": {name: _number(weight) for name, weight in facts.weights},
        "notes": list(source.notes),
    }


def _setting(source: SourceFacts) -> dict[str, Any]:
    return {
        "source": source.source,
        "workers": int(source.workers),
        "rounds": int(source.rounds),
        "warmup": int(source.warmup),
        "seeds": int(source.seeds),
        "late": source.late,
        "states": source.states,
        "overhead": _number(source.overhead),
    }


def _to_clairvoyant(late: str, facts: PolicyFacts) -> dict[str, float | None]:
    shares = {
        **_spread("of_clairvoyant", facts.of_clairvoyant),
        "of_clairvoyant_all": _number(facts.of_clairvoyant_all.mean),
    }
    if late != "finish":
        return shares
    # Keep the keys, so that readers of many files need no special case; drop the values, which would mislead.
    renamed = {key.replace("clairvoyant", "abandon_bound"): value for key, value in shares.items()}
    return {**dict.fromkeys(shares), **renamed}


def _spread(key: str, spread: Spread | None) -> dict[str, float | None]:
    return {
        key: _number(spread.mean if spread else None),
        f"{key}_worst": _number(spread.least if spread else None),
        f"{key}_best": _number(spread.most if spread else None),
        f"{key}_low": _number(spread.low if spread else None),
        f"{key}_high": _number(spread.high if spread else None),
    }


def _number(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
