"""The backtest for other programs: one flat object per source and forecaster, finite numbers or null only."""

from __future__ import annotations

import math
from typing import Any

from tailcut.study.backtest_facts import Backtest, BacktestFacts, ForecasterFacts
from tailcut.study.facts import Spread


def backtest_json(found: Backtest) -> list[dict[str, Any]]:
    """Return one object per source and forecaster, in the order of the backtest, ready for `json.dumps`."""
    return [_row(source, facts) for source in found.sources for facts in source.forecasters]


def _row(source: BacktestFacts, facts: ForecasterFacts) -> dict[str, Any]:
    return {
        "source": source.source,
        "workers": int(source.workers),
        "rounds": int(source.rounds),
        "warmup": int(source.warmup),
        "seeds": int(source.seeds),
        "see": source.see,
        "close": source.close,
        "seen": _number(source.seen),
        "policies": facts.name,
        "forecaster": facts.forecaster,
        "kind": facts.kind,
        **_high("log_score", facts.log_score),
        **_low("order_crps", facts.order_crps),
        **_low("close_crps", facts.close_crps),
        **_cover("cover50", facts.cover50),
        **_cover("cover90", facts.cover90),
        "pit": [_number(share) for share in facts.pit],
        "left_out": int(facts.left_out),
        "round_ms": _number(facts.round_ms),
        "notes": list(source.notes),
    }


def _high(key: str, spread: Spread) -> dict[str, float | None]:
    return _spread(key, spread.mean, worst=spread.least, best=spread.most)


def _low(key: str, spread: Spread) -> dict[str, float | None]:
    return _spread(key, spread.mean, worst=spread.most, best=spread.least)


def _cover(key: str, spread: Spread) -> dict[str, float | None]:
    return _spread(key, spread.mean, least=spread.least, most=spread.most)


def _spread(key: str, mean: float, **ends: float) -> dict[str, float | None]:
    return {key: _number(mean), **{f"{key}_{end}": _number(value) for end, value in ends.items()}}


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
