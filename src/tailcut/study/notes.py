"""Notes that a reader needs beside the figures: sentences with the numbers that call for them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tailcut.study.facts import PolicyFacts, SourceFacts
from tailcut.table import Table

RUSHED = 0.10
SHORT = 100


def notes_on(facts: SourceFacts, table: Table, rushed: float) -> SourceFacts:
    """Return the facts with further notes after those that they have already."""
    notes = [
        *facts.notes,
        *_about_table(facts, table),
        *_about_bounds(facts, rushed),
        *_about_others(facts),
        *_about_bias(facts),
    ]
    return replace(facts, notes=tuple(notes))


def _about_table(facts: SourceFacts, table: Table) -> list[str]:
    notes = []
    present = ~np.isnan(table.seconds)
    censored = int((present & ~table.observed).sum())
    if censored:
        notes.append(
            f"{censored} of {int(present.sum())} run times are censored (observed = false): that gradient never "
            "came, so no policy can be credited with it and what a cut would save is understated."
        )
    if facts.rounds < SHORT:
        notes.append(
            f"Only {facts.rounds} rounds: figures this short vary a lot, and bounds in hindsight look better "
            "than they are."
        )
    return notes


def _about_bounds(facts: SourceFacts, rushed: float) -> list[str]:
    notes = []
    if rushed > RUSHED:
        notes.append(
            f"The whole-source clairvoyant takes fewer than a quarter of the workers in {rushed:.0%} of the rounds: "
            "it rushes through slow rounds, which no run that must last a given number of updates should copy."
        )
    if facts.late == "finish":
        notes.append(
            "Late workers finish here, and the clairvoyant is computed as if they abandoned: it is no bound in this "
            "mode. Compare with wait-all, best-static and best-deadline, which are simulated in the same mode."
        )
    return notes


def _about_others(facts: SourceFacts) -> list[str]:
    others = [p for p in facts.policies if p.kind == "other"]
    if not others:
        return []
    names = ", ".join(p.policy for p in others)
    notes = [
        f"Not comparable with the rest: {names}. Parts of gradients (micro-batches) or stale gradients are counted "
        "there as if they were whole and fresh, which the bounds are not allowed to do."
    ]
    ended = ", ".join(p.policy for p in others if math.isnan(p.throughput.mean))
    if ended:
        notes.append(
            f"No figures for {ended}: a fast worker had used up its run times before the first {facts.warmup} rounds "
            "and one more were over."
        )
    return notes


def _about_bias(facts: SourceFacts) -> list[str]:
    skewed = [p for p in facts.policies if p.kind == "policy" and _skewed(p)]
    if not skewed:
        return []
    worst = min(skewed, key=lambda p: p.deciles[-1])
    names = ", ".join(p.policy for p in skewed)
    return [
        f"The slowest tenth of the work is accepted less than half as often as the mean by {names} "
        f"({worst.policy}: {worst.deciles[-1]:.0%}). If slow work differs from fast work, the gradient is biased: "
        "stopping:fair=50 bounds how long a worker may go without."
    ]


def _skewed(facts: PolicyFacts) -> bool:
    return facts.deciles[-1] < 0.5 * sum(facts.deciles) / len(facts.deciles)
