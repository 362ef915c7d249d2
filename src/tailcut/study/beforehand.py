"""Training of forecasters before a comparison, on rounds that the comparison does not measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tailcut.forecast.base import Forecaster, Trainable
from tailcut.policy import Policy
from tailcut.rules import WarmUp
from tailcut.study.contest import Entrant
from tailcut.study.lessons import every_row
from tailcut.study.source import Source


@dataclass(frozen=True, slots=True)
class Prepared:
    """The entrants of a comparison, trained where necessary.

    Attributes:
        entrants: all of them, in their order.
        skip: number of first rounds that the comparison has to leave out, since an entrant is trained on
            them.
        notes: one sentence on the training of each entrant that needed it.
    """

    entrants: tuple[Entrant, ...]
    skip: int
    notes: tuple[str, ...]


def prepared(source: Source, entrants: Sequence[Entrant], rounds: int) -> Prepared:
    """Train the entrants that have no model yet.

    On a cluster they are trained on a separate draw of it. A recorded table has no other rounds: there an entrant
    trains itself on at most the first half, in which it waits for all, and the comparison leaves these rounds out.

    Args:
        source: source of the comparison.
        entrants: all entrants.
        rounds: number of rounds in a sample.
    """
    done: list[Entrant] = []
    notes: list[str] = []
    skip = 0
    for entrant in entrants:
        forecaster = entrant.policy.forecaster
        if not isinstance(forecaster, Trainable) or forecaster.is_trained:
            done.append(entrant)
            continue
        table = source.separate(forecaster.rounds_beforehand)
        if table is not None:
            done.append(
                replace(entrant, policy=_with_model(entrant.policy, forecaster.trained(every_row(table))))
            )
            notes.append(
                f"{entrant.name} was trained beforehand on {table.rounds} rounds of another draw of {source.name}. "
                "Those rounds are not measured, and what they would cost is not counted."
            )
            continue
        first = min(forecaster.rounds_in_run, rounds // 2)
        if first < forecaster.least_rounds:
            done.append(entrant)
            notes.append(
                f"{entrant.name} waits for all in every round: it has no model, and a model needs at least "
                f"{2 * forecaster.least_rounds} rounds, one half to be trained on, but the table has {rounds}. "
                "Give it one with model=FILE."
            )
            continue
        done.append(replace(entrant, policy=replace(entrant.policy, forecaster=forecaster.collecting(first))))
        skip = max(skip, first)
        notes.append(_trained_on_first(entrant.name, first, forecaster.rounds_in_run))
    return Prepared(tuple(done), skip, tuple(notes))


def _with_model(policy: Policy, forecaster: Forecaster[Any]) -> Policy:
    """Return the policy with a trained forecaster, which needs no whole rounds at the start of a run."""
    rule = policy.rule if isinstance(forecaster, Trainable) else WarmUp(policy.rule)
    return replace(policy, forecaster=forecaster, rule=rule)


def _trained_on_first(name: str, first: int, wanted: int) -> str:
    few = f" ({wanted} would be better)" if first < wanted else ""
    return (
        f"{name} was trained on the first {first} rounds of the table{few}, in which it waits for all. They are left "
        "out of the figures of all policies and bounds. Give it a model with model=FILE to measure all rounds."
    )
