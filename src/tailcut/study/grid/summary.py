"""The facts of a study, computed from its finished runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tailcut.study.grid.collect import Collected, FinishedRun
from tailcut.study.grid.config import Study
from tailcut.study.grid.facts import ArmFacts, CaseFacts, Setting, StudyFacts, TimeToTarget
from tailcut.study.grid.statics import Against, Reach, held_against, judged, reference_of
from tailcut.study.grid.tuning import edge_note, rates_of
from tailcut.study.statistics import Interval, t_interval
from tailcut.types import FloatArray, Seconds

BYTES = 4
"""Bytes of one number of a gradient: it is sent in single precision."""
FEW = 10
"""Number of seeds below which t tests replace exact permutation tests, or little can be shown."""


def study_facts(found: Collected) -> StudyFacts:
    """Return the facts of all finished runs."""
    arms = _in_order([run.head.arm for run in found.runs], _named(found.study, "arms"))
    of_setting: dict[Setting, list[FinishedRun]] = {}
    for run in found.runs:
        of_setting.setdefault(Setting.of(run), []).append(run)
    settings = sorted(of_setting, key=lambda one: _place(one, found.study))
    cases = tuple(case_facts(one, of_setting[one], found.study) for one in settings)
    return StudyFacts(found.name, cases, tuple(arms), (*found.notes, *_split(cases)))


def case_facts(setting: Setting, runs: Sequence[FinishedRun], study: Study | None) -> CaseFacts:
    """Return the facts of the runs of one setting."""
    of_arm: dict[str, list[FinishedRun]] = {}
    for name in _in_order([run.head.arm for run in runs], _named(study, "arms")):
        of_arm[name] = sorted((run for run in runs if run.head.arm == name), key=lambda run: run.head.seed)
    static = "" if study is None else study.best_static
    compared = {}
    for name, mine in of_arm.items():
        reference = reference_of(name, mine[0].head.rate_rule, static, list(of_arm))
        if reference is not None:
            compared[name] = held_against(reference, _by_seed(mine), _by_seed(of_arm[reference]))
    against = dict(zip(compared, judged(list(compared.values())), strict=True))
    arms = [_arm(mine, against.get(name)) for name, mine in of_arm.items()]
    return CaseFacts(setting, tuple(arms), tuple(_notes(arms, study)))


def _arm(runs: Sequence[FinishedRun], against: Against | None) -> ArmFacts:
    heads, ends, totals = zip(*((run.head, run.end, run.end.totals) for run in runs), strict=True)
    sent = [float(one.accepted.sum() + one.late) for one in totals]
    shares = np.array([_shares(run) for run in runs])
    return ArmFacts(
        arm=heads[0].arm,
        policies=tuple(dict.fromkeys(head.policy for head in heads)),
        rates=tuple(dict.fromkeys(head.rate for head in heads)),
        rate_rule=heads[0].rate_rule,
        optimiser=heads[0].optimiser,
        seeds=tuple(head.seed for head in heads),
        ends=tuple(one.seconds for one in totals),
        reached=sum(end.ending == "reached" for end in ends),
        diverged=sum(end.ending == "diverged" for end in ends),
        time=_time(runs),
        updates=_mean([np.nan if e.updates_to_target is None else e.updates_to_target for e in ends]),
        cutoff=_mean([one.gradients / one.updates if one.updates else np.nan for one in totals]),
        idle=_mean([one.idle for one in totals]),
        staleness=_mean([one.staleness for one in totals]),
        bytes_sent=BYTES * _mean(sent) * heads[0].parameters,
        bytes_in_vain=BYTES * _mean([one.late for one in totals]) * heads[0].parameters,
        late=_mean([one.late for one in totals]),
        dropped=_mean([one.dropped for one in totals]),
        least_served=_mean(shares[:, 0]),
        shares=shares.mean(axis=0),
        final=_final(runs),
        tracks=tuple(run.track for run in runs),
        against=against,
    )


def _time(runs: Sequence[FinishedRun]) -> TimeToTarget:
    each = np.array([run.end.seconds_to_target for run in runs])
    given = np.array([_given(run) for run in runs])
    return TimeToTarget(
        tuple(float(one) for one in each), float(each.mean()), _interval(each, given), float(given.mean())
    )


def _interval(each: FloatArray, given: FloatArray) -> Interval:
    """Return the interval of the mean time; runs without the target make it longer, never shorter."""
    if len(each) > 1 and np.isinf(given).any():
        return Interval(float("inf"), float("inf"))
    known = t_interval(given)
    high = float("inf") if len(each) > 1 and np.isinf(each).any() else known.high
    return Interval(float(np.maximum(known.low, 0.0)), high)


def _given(run: FinishedRun) -> Seconds:
    """Return the least possible seconds to the target; infinite for a run that diverged."""
    match run.end.ending:
        case "reached":
            return run.end.seconds_to_target
        case "not reached":
            return run.end.totals.seconds
    return float("inf")


def _shares(run: FinishedRun) -> FloatArray:
    accepted = np.sort(run.end.totals.accepted).astype(np.float64)
    total = accepted.sum()
    return accepted * len(accepted) / total if total else np.full(len(accepted), np.nan)


def _final(runs: Sequence[FinishedRun]) -> dict[str, float]:
    names = dict.fromkeys(name for run in runs for name in run.final)
    return {name: _mean([run.final.get(name, np.nan) for run in runs]) for name in names}


def _notes(arms: Sequence[ArmFacts], study: Study | None) -> list[str]:
    notes = []
    wanted = len(set().union(*(facts.seeds for facts in arms))) if study is None else study.seeds
    few = [f"`{facts.arm}` {facts.runs}" for facts in arms if facts.runs < wanted]
    if few:
        notes.append(f"Of {wanted} runs each these arms have fewer that are finished: {', '.join(few)}.")
    missing = [] if study is None else [arm.name for arm in study.arms]
    missing = [name for name in missing if name not in {facts.arm for facts in arms}]
    if missing:
        notes.append(f"No run is finished of {', '.join(f'`{name}`' for name in missing)}.")
    if all(facts.runs == 1 for facts in arms):
        notes.append("One seed each: how far seeds lie apart is not known, so there are no intervals.")
    elif max(facts.runs for facts in arms) < FEW:
        notes.append(_few(arms))
    wild = [f"`{facts.arm}` {facts.diverged} of {facts.runs}" for facts in arms if facts.diverged]
    if wild:
        notes.append(f"Runs whose loss was no number any more: {', '.join(wild)}.")
    notes += _edges(arms, study)
    mixed = [facts.arm for facts in arms if len(facts.policies) > 1 or len(facts.rates) > 1]
    notes += [
        f"Runs of `{name}` differ in policy or learning rate; they are of different tunings."
        for name in mixed
    ]
    return notes


def _edges(arms: Sequence[ArmFacts], study: Study | None) -> list[str]:
    """Return the sentence about rates at the edge of their grid, for arms that the study still has."""
    if study is None:
        return []
    named = {arm.name: arm for arm in study.arms}
    note = edge_note(
        [
            (facts.arm, facts.rates[0], rates_of(study, named[facts.arm]))
            for facts in arms
            if facts.arm in named and len(facts.rates) == 1
        ]
    )
    return [] if note is None else [note]


def _few(arms: Sequence[ArmFacts]) -> str:
    by_t = any(facts.against is not None and facts.against.test == "t" for facts in arms)
    tests = " Verdicts are by t tests, which trust that logarithms of times are about normal." if by_t else ""
    return f"Few seeds: take {FEW} or more where a verdict matters.{tests}"


def _split(cases: Sequence[CaseFacts]) -> list[str]:
    names = [case.name for case in cases]
    return [
        f"Runs of {name} differ in their target, their batch or another thing that they should have in common; they "
        f"are told apart, {names.count(name)} times."
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]


def _mean(values: Sequence[float] | FloatArray) -> float:
    with np.errstate(invalid="ignore", over="ignore"):
        return float(np.mean(np.asarray(values, dtype=np.float64)))


def _by_seed(runs: Sequence[FinishedRun]) -> dict[int, Reach]:
    return {
        run.head.seed: Reach(run.end.seconds_to_target, run.end.totals.seconds, run.end.ending == "diverged")
        for run in runs
    }


def _named(study: Study | None, what: str) -> list[str]:
    if study is None:
        return []
    return [arm.name for arm in study.arms] if what == "arms" else list(getattr(study, what))


def _in_order(names: Sequence[str], order: Sequence[str]) -> list[str]:
    """Return each name once: those of the study in its order, then others, sorted."""
    found = set(names)
    known = [name for name in order if name in found]
    return known + sorted(found - set(known))


def _place(setting: Setting, study: Study | None) -> tuple[object, ...]:
    tasks, clusters = _named(study, "tasks"), _named(study, "clusters")
    return (
        tasks.index(setting.task) if setting.task in tasks else len(tasks),
        clusters.index(setting.cluster) if setting.cluster in clusters else len(clusters),
        repr(setting),
    )
