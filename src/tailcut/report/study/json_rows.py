"""The study for other programs: one flat object per task, cluster and arm, finite numbers or null only."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from tailcut.report.study.words import headline
from tailcut.study.grid.facts import ArmFacts, CaseFacts, StudyFacts
from tailcut.study.grid.statics import Against


def study_json(study: StudyFacts) -> list[dict[str, Any]]:
    """Return one object per task, cluster and arm, in the order of the study, ready for `json.dumps`."""
    return [_row(study, case, facts) for case in study.cases for facts in case.arms]


def _row(study: StudyFacts, case: CaseFacts, facts: ArmFacts) -> dict[str, Any]:
    return {
        "study": study.name,
        **{key: _plain(value) for key, value in asdict(case.setting).items()},
        "headline": headline(case),
        "arm": facts.arm,
        "policies": list(facts.policies),
        "rates": [_number(rate) for rate in facts.rates],
        "rate_rule": facts.rate_rule,
        "optimiser": facts.optimiser,
        "seeds": list(facts.seeds),
        "runs": facts.runs,
        "reached": facts.reached,
        "diverged": facts.diverged,
        "seconds": _number(facts.time.mean),
        "seconds_low": _number(facts.time.interval.low),
        "seconds_high": _number(facts.time.interval.high),
        "seconds_at_least": _number(facts.time.at_least),
        "seconds_best": _number(facts.time.best),
        "seconds_worst": _number(facts.time.worst),
        "seconds_by_seed": [_number(each) for each in facts.time.each],
        "ended_by_seed": [_number(each) for each in facts.ends],
        **_against(facts.against),
        "updates": _number(facts.updates),
        "mean_cutoff": _number(facts.cutoff),
        "idle": _number(facts.idle),
        "staleness": _number(facts.staleness),
        "bytes_sent": _number(facts.bytes_sent),
        "bytes_in_vain": _number(facts.bytes_in_vain),
        "gradients_late": _number(facts.late),
        "gradients_dropped": _number(facts.dropped),
        "least_served": _number(facts.least_served),
        "accepted_share_by_worker": [_number(share) for share in facts.shares],
        "final": {name: _number(value) for name, value in facts.final.items()},
        "notes": [*study.notes, *case.notes],
    }


def _against(against: Against | None) -> dict[str, Any]:
    """Return the comparison with the best static arm; the keys are the same if there is none."""
    return {
        "reference": None if against is None else against.reference,
        "ratio": None if against is None else _number(against.mean),
        "ratio_low": None if against is None else _number(against.interval.low),
        "ratio_high": None if against is None else _number(against.interval.high),
        "ratio_by_seed": [] if against is None else [_number(ratio) for ratio in against.ratios],
        "ratio_seeds": [] if against is None else list(against.seeds),
        "undecided": None if against is None else against.undecided,
        "verdict": None if against is None else against.verdict,
        "test": None if against is None else against.test,
        "p_sooner": None if against is None else against.sooner,
        "p_not_worse": None if against is None else against.not_worse,
        "p_worse": None if against is None else against.worse,
    }


def _plain(value: Any) -> Any:
    return _number(value) if isinstance(value, float) else value


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
