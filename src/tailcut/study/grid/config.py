"""The definition of a study, read from a file: tasks, clusters, ways to train, and numbers of runs."""

from __future__ import annotations

import math
import reprlib
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from tailcut.bounded_files import read_text
from tailcut.errors import InputError, ParameterError, one_line

WORDS = "Known: "
MAX_STUDY_BYTES = 1 << 18
"""Largest file of a study, in bytes."""
MAX_RUNS = 100_000
"""Most runs of a study."""
MAX_DOTS = 200
"""Most dots in one line of a study's file."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to train.

    Attributes:
        name: name in tables and plots.
        policies: one policy, or several of which tuning takes the best (such as fixed cutoffs).
        rate_rule: `fixed`, `linear`, `sqrt` or `gain`; None for the rule of the policy's objective, or
            `fixed` where stale gradients are divided by their staleness.
        rates: base learning rates to tune over; None for the study's.
        stale: weight of stale gradients, `plain` or `inverse`; None for `inverse` with `softsync`, as published, and
            `plain` otherwise.
        optimiser: name of the optimizer; None for the study's.
    """

    name: str
    policies: tuple[str, ...]
    rate_rule: str | None = None
    rates: tuple[float, ...] | None = None
    stale: str | None = None
    optimiser: str | None = None


@dataclass(frozen=True, slots=True)
class Study:
    """A grid of runs.

    Attributes:
        name: name of the study.
        tasks, clusters: names as in `tailcut`, parameters included.
        arms: ways to train.
        seeds: number of runs of each arm, on seeds 0, 1, …
        tune_seeds: number of runs of each candidate on other seeds, by which an arm's policy and rate are
            chosen.
        rounds: rounds of waiting for all whose time is the budget of a run. With `budget = "rounds"` the
            number of rows of run times, after which a run ends.
        budget: `time` gives every arm the same virtual time, `rounds` the same rows of run times.
        rates: base learning rates to tune over.
        optimiser: `sgd`, `momentum`, `adam` or `rmsprop`.
        batch: samples in a worker's mini-batch; None for the task's.
        target: value to be reached; None for the task's.
        figure: figure of the task that the target is about; None for the task's. A loss must be at most the
            target.
        every: accepted gradients from one evaluation of the net to the next, as a share of the workers.
        clip: largest norm of the mean gradient; None for no limit.
        average: decay of the averaged weights that are evaluated, 0 for none.
        warm_up: updates over which the learning rate grows.
        late: `abandon` or `finish`.
        requeue: whether a dropped mini-batch is the worker's next one.
        beyond: whether runs continue after their target, to the end of the run times.
        best_static: name of the arm with fixed cutoffs that the others are compared with; empty for none.
    """

    name: str
    tasks: tuple[str, ...]
    clusters: tuple[str, ...]
    arms: tuple[Arm, ...]
    seeds: int = 5
    tune_seeds: int = 1
    rounds: int = 300
    budget: str = "time"
    rates: tuple[float, ...] = (0.03, 0.1, 0.3, 1.0)
    optimiser: str = "momentum"
    batch: int | None = None
    target: float | None = None
    figure: str | None = None
    every: float = 0.5
    clip: float | None = None
    average: float = 0.0
    warm_up: int = 0
    late: str = "abandon"
    requeue: bool = False
    beyond: bool = False
    best_static: str = ""

    def __post_init__(self) -> None:
        for name in ("tasks", "clusters", "arms"):
            if not getattr(self, name):
                raise ParameterError(f"A study needs at least one of its {name}, but got none. Name one.")
        for name, least in (("seeds", 1), ("tune_seeds", 1), ("rounds", 2), ("warm_up", 0)):
            if getattr(self, name) < least:
                raise ParameterError(f"{name} must be {least} or more, but got {getattr(self, name)}.")
        if self.late not in ("abandon", "finish"):
            raise ParameterError(f"late must be 'abandon' or 'finish', but got {reprlib.repr(self.late)}.")
        if self.budget not in ("time", "rounds"):
            raise ParameterError(f"budget must be 'time' or 'rounds', but got {reprlib.repr(self.budget)}.")
        if not 0.0 < self.every < math.inf:
            raise ParameterError(f"every must be positive and finite, but got {self.every}. Try 0.5.")
        if self.target is not None and not math.isfinite(self.target):
            raise ParameterError(
                f"target must be a finite number, but got {self.target}. Leave it out for the task's."
            )
        if any(rates == () for rates in (self.rates, *(arm.rates for arm in self.arms))):
            raise ParameterError("rates must name at least one learning rate, but is empty. Try [0.1].")
        if self.figure is not None and self.target is None:
            raise ParameterError(
                f"figure = {reprlib.repr(self.figure)} needs a target. Give target = 0.2, say."
            )
        if self.runs > MAX_RUNS:
            raise ParameterError(
                f"A study has at most {MAX_RUNS:,} runs, those of the tuning included, but this one has {self.runs:,}. "
                "Take fewer seeds, arms, rates, tasks or clusters."
            )
        names = [arm.name for arm in self.arms]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ParameterError(
                f"Two arms are called {reprlib.repr(twice[0])}. Give each a name of its own."
            )
        if self.best_static and self.best_static not in names:
            raise ParameterError(
                f"best_static names the arm {reprlib.repr(self.best_static)}, but there is none of that name. "
                f"Arms: {', '.join(names)}."
            )

    @property
    def runs(self) -> int:
        """The number of runs, those of the tuning included."""
        tries = sum(len(arm.policies) * len(arm.rates or self.rates) for arm in self.arms)
        places = len(self.tasks) * len(self.clusters)
        return places * (self.seeds * len(self.arms) + self.tune_seeds * tries)


def read_study(path: Path) -> Study:
    """Return the study in a TOML file.

    Raises:
        InputError: it cannot be read, is no TOML, or says something a study cannot mean; the message names the place.
    """
    return study_in(study_text(path), path)


def study_text(path: Path) -> str:
    """Return the text of a TOML file.

    Raises:
        InputError: it cannot be read, is too large, or is no text.
    """
    try:
        return read_text(path, MAX_STUDY_BYTES)
    except OSError as problem:
        raise InputError(f"{path} cannot be read: {problem.strerror}. Give the file of a study.") from problem
    except UnicodeDecodeError as problem:
        raise InputError(f"{path} is no TOML: {problem}.") from problem


def study_in(text: str, path: Path) -> Study:
    """Return the study that the text of a TOML file describes.

    Raises:
        InputError: it is no TOML, or says something a study cannot mean; the message names the place.
    """
    try:
        return study_of({"name": path.stem, **_toml(text)})
    except ParameterError as problem:
        raise InputError(f"{path}: {problem}") from problem
    except ValueError as problem:
        raise InputError(f"{path} is no TOML: {one_line(problem)}.") from problem


def _toml(text: str) -> dict[str, Any]:
    """Return the values of a TOML text.

    Raises:
        ValueError: the text is not TOML, nests too deeply, or has a number of thousands of digits.
    """
    for number, line in enumerate(text.splitlines(), 1):
        # The parser's time for a dotted key grows with the square of the number of its parts.
        if line.count(".") > MAX_DOTS:
            raise ValueError(f"line {number} has more than {MAX_DOTS} dots: break it")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError:
        raise ValueError("it has a number with thousands of digits") from None


def study_of(told: Mapping[str, Any]) -> Study:
    """Return the study that plain values describe.

    Raises:
        ParameterError: something is missing, unknown or of the wrong kind.
    """
    arms = told.get("arms", [])
    if not isinstance(arms, list):
        raise ParameterError("arms must be a list of tables: write [[arms]] above each.")
    read = tuple(_arm(arm, place) for place, arm in enumerate(arms, 1))
    return Study(**_checked({**told, "arms": list(arms)}, Study, "the study") | {"arms": read})


def _arm(told: Any, place: int) -> Arm:
    where = f"arm {place}"
    if isinstance(told, str):
        told = {"policy": told}
    if not isinstance(told, dict):
        raise ParameterError(f"{where} must be the name of a policy or a table, but is {reprlib.repr(told)}.")
    told = dict(told)
    if "policy" in told:
        told["policies"] = [told.pop("policy")]
    policies = told.get("policies")
    if not policies:
        raise ParameterError(
            f'{where} names no policy. Write policy = "bayes", or policies = [...] for several.'
        )
    told.setdefault("name", policies[0] if isinstance(policies, list) else None)
    return Arm(**_checked(told, Arm, where))


def _checked(told: Mapping[str, Any], kind: type, where: str) -> dict[str, Any]:
    """Return values by field, lists as tuples, each of the kind that its field declares."""
    known = {field.name: field for field in fields(kind)}
    for key in told:
        if key not in known:
            raise ParameterError(
                f"{where} has no setting {reprlib.repr(key)}. {WORDS}{', '.join(sorted(known))}."
            )
    for key, field in known.items():
        if key not in told and field.default is MISSING:
            raise ParameterError(f"{where} lacks {key!r}. Name it.")
    return {key: _value(told[key], str(known[key].type), f"{key} of {where}") for key in told}


def _value(value: Any, declared: str, where: str) -> Any:
    if declared.startswith("tuple"):
        if not isinstance(value, list):
            raise ParameterError(f"{where} must be a list, but is {reprlib.repr(value)}. Put it in brackets.")
        inner = "str" if "str" in declared else "float" if "float" in declared else "any"
        return tuple(_value(each, inner, f"each of {where}") for each in value)
    wanted = [kind for name, kind in _KINDS.items() if name in declared.split(" | ")]
    if not wanted:
        return value
    if float in wanted and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) not in wanted:
        raise ParameterError(f"{where} must be {_SAID[wanted[0]]}, but is {reprlib.repr(value)}.")
    return value


_KINDS: dict[str, type] = {"str": str, "int": int, "float": float, "bool": bool}
_SAID = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
