"""Sentences on live training."""

from __future__ import annotations

from tailcut.report.study.formats import duration, value_of
from tailcut.report.train.columns import over_ddp, times
from tailcut.report.train.facts import Training


def goal(training: Training) -> str:
    """Format the target: `95 % accuracy`, `loss 0.35`."""
    target, name = training.goal, training.goal.figure.replace("_", " ")
    value = value_of(target.figure, target.value)
    return f"{value} {name}" if value.endswith("%") else f"{name} {value}"


def outcome(training: Training) -> str:
    """Describe the result in one sentence."""
    best = training.best
    if best.to_target is None:
        return f"Nobody got to {goal(training)}; `{best.arm}` used most gradients per second."
    got = f"`{best.arm}` is the first at {goal(training)}, after {duration(best.to_target)}"
    if training.ddp is None or training.ddp is best:
        return f"{got}."
    took = training.ddp.to_target
    late = "plain DDP did not get there" if took is None else f"plain DDP takes {duration(took)}"
    return f"{got}, with {times(over_ddp(training, best))} plain DDP's gradients per second; {late}."
