"""A study as a file tells it: what is trained, where, in which ways, and how often."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from tailcut.errors import InputError, ParameterError

WORDS = "Known: "


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to train.

    Attributes:
        name: what tables and plots call it.
        policies: one, or several of which tuning takes the best (such as fixed cutoffs).
        rate_rule: `fixed`, `linear`, `sqrt` or `gain`; None for the one that goes with the policy's objective.
        rates: base learning rates to tune over; None for the study's.
        stale: weight of stale gradients, `plain` or `inverse`.
        optimiser: None for the study's.
    """

    name: str
    policies: tuple[str, ...]
    rate_rule: str | None = None
    rates: tuple[float, ...] | None = None
    stale: str = "plain"
    optimiser: str | None = None


@dataclass(frozen=True, slots=True)
class Study:
    """A grid of runs.

    Attributes:
        name: of the study.
        tasks, clusters: as `tailcut` names them, parameters included.
        arms: ways to train.
        seeds: runs of each, on seeds 0, 1, …
        tune_seeds: runs of each candidate on other seeds, by which an arm's policy and rate are chosen.
        rounds: rows of run times to draw; a run ends with them if it has not reached its target before.
        rates: base learning rates to tune over.
        optimiser: `sgd`, `momentum`, `adam` or `rmsprop`.
        batch: samples in a worker's mini-batch; None for the task's.
        target: to be reached; None for the task's.
        figure: of the task, in which the target is told; None for the task's. A loss is to be at most the target.
        every: accepted gradients from one look at the net to the next, as a share of the workers.
        clip: largest norm of the mean gradient; None for no limit.
        average: decay of the averaged weights that are evaluated, 0 for none.
        warm_up: updates over which the learning rate grows.
        late: `abandon` or `finish`.
        requeue: whether a dropped mini-batch is the worker's next one.
        beyond: whether runs go on after their target, to the end of the run times.
        best_static: name of the arm with fixed cutoffs that the others are held against; empty for none.
    """

    name: str
    tasks: tuple[str, ...]
    clusters: tuple[str, ...]
    arms: tuple[Arm, ...]
    seeds: int = 5
    tune_seeds: int = 1
    rounds: int = 300
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
            raise ParameterError(f"late must be 'abandon' or 'finish', but got {self.late!r}.")
        if not self.every > 0.0:
            raise ParameterError(f"every must be positive, but got {self.every}. Try 0.5.")
        if self.figure is not None and self.target is None:
            raise ParameterError(f"figure = {self.figure!r} needs a target. Give target = 0.2, say.")
        names = [arm.name for arm in self.arms]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ParameterError(f"Two arms are called {twice[0]!r}. Give each a name of its own.")
        if self.best_static and self.best_static not in names:
            raise ParameterError(
                f"best_static names the arm {self.best_static!r}, but there is none of that name. "
                f"Arms: {', '.join(names)}."
            )


def read_study(path: Path) -> Study:
    """Read a study from a TOML file.

    Raises:
        InputError: it cannot be read, is no TOML, or says something a study cannot mean; the message names the place.
    """
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise InputError(f"{path} cannot be read: {problem.strerror}. Give the file of a study.") from problem
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise InputError(f"{path} is no TOML: {problem}.") from problem
    try:
        return study_of({"name": path.stem, **told})
    except ParameterError as problem:
        raise InputError(f"{path}: {problem}") from problem


def study_of(told: Mapping[str, Any]) -> Study:
    """The study that plain values tell.

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
        raise ParameterError(f"{where} must be the name of a policy or a table, but is {told!r}.")
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
    """Values by field, lists as tuples, each of the kind its field has."""
    known = {field.name: field for field in fields(kind)}
    for key in told:
        if key not in known:
            raise ParameterError(f"{where} has no setting {key!r}. {WORDS}{', '.join(sorted(known))}.")
    for key, field in known.items():
        if key not in told and field.default is MISSING:
            raise ParameterError(f"{where} lacks {key!r}. Name it.")
    return {key: _value(told[key], str(known[key].type), f"{key} of {where}") for key in told}


def _value(value: Any, declared: str, where: str) -> Any:
    if declared.startswith("tuple"):
        if not isinstance(value, list):
            raise ParameterError(f"{where} must be a list, but is {value!r}. Put it in brackets.")
        inner = "str" if "str" in declared else "float" if "float" in declared else "any"
        return tuple(_value(each, inner, f"each of {where}") for each in value)
    wanted = [kind for name, kind in _KINDS.items() if name in declared.split(" | ")]
    if not wanted:
        return value
    if float in wanted and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) not in wanted:
        raise ParameterError(f"{where} must be {_SAID[wanted[0]]}, but is {value!r}.")
    return value


_KINDS: dict[str, type] = {"str": str, "int": int, "float": float, "bool": bool}
_SAID = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
