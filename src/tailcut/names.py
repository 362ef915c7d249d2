"""Names to objects: the only place where strings become policies, clusters and sources.

A name may carry parameters, `name:key=value:key=value`. Packages add their own under the entry-point groups
`tailcut.policies` and `tailcut.clusters`.
"""

from __future__ import annotations

import functools
import inspect
import math
import sys
import types
import typing
import warnings
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoints, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailcut.errors import ParameterError, UnknownNameError
from tailcut.extras import require
from tailcut.policy_names import POLICIES, NamedPolicy
from tailcut.study.contest import Entrant

if TYPE_CHECKING:  # These are slow to load, and most commands need neither clusters nor tasks.
    from tailcut.clusters.presets import Preset
    from tailcut.learning.tasks.base import Task
    from tailcut.study.source import Source

TRUE, FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
TASK_MODULES = {"digits": ("sklearn",), "cartpole": ("gymnasium",)}
"""Optional modules beside torch that built-in tasks need; tasks that read files may need more for some files."""
STATES = "states"
"""Parameter of every cluster: whether its hidden state moves by rounds or by the clock."""
WANTED = {bool: "true or false", int: "a whole number", float: "a number"}


def policies() -> Mapping[str, NamedPolicy]:
    """All policies by name, built-in ones first."""
    return {**POLICIES, **_plugged_in("tailcut.policies", NamedPolicy)}


def clusters() -> Mapping[str, Preset]:
    """All clusters by name, built-in ones first."""
    from tailcut.clusters.presets import PRESETS, Preset

    return {**PRESETS, **_plugged_in("tailcut.clusters", Preset)}


def entrant(spec: str) -> Entrant:
    """The policy that `name:key=value` stands for.

    Example:
        >>> entrant("backup:b=4").policy.rule
        Backup(b=4, c=None, share=None)
    """
    name, *parts = spec.split(":")
    known = policies()
    if name not in known:
        raise UnknownNameError("policy", name, known)
    named = known[name]
    given = _arguments(spec, named.make, parts)
    return Entrant(spec, named.make(**given), named.accepts(given))


def tasks() -> Mapping[str, Callable[..., Task]]:
    """All tasks by name, built-in ones first: keyword parameters, all with defaults, to a task.

    Raises:
        MissingExtraError: torch is not installed.
    """
    from tailcut.learning.tasks.presets import TASKS

    return {**TASKS, **_plugged_in("tailcut.tasks", Callable)}  # type: ignore[arg-type]


def task(spec: str) -> Task:
    """The task that `name:key=value` stands for.

    Example:
        >>> task("quadratic").target.figure
        'loss'
    """
    name, *parts = spec.split(":")
    require(f"The task {name}", *task_modules(spec))
    known = tasks()
    if name not in known:
        raise UnknownNameError("task", name, known)
    return known[name](**_arguments(spec, known[name], parts))


def task_modules(spec: str) -> tuple[str, ...]:
    """The optional modules that a built-in task needs with any parameters.

    Example:
        >>> task_modules("digits:hidden=8")
        ('torch', 'sklearn')
    """
    return ("torch", *TASK_MODULES.get(spec.partition(":")[0], ()))


def source(spec: str) -> Source:
    """The cluster, file or run's folder that a text stands for; a name of a cluster goes before a file of that name.

    A file whose path only begins like a cluster with parameters is a file.

    Example:
        >>> source("demo8").draw(seed=0, rounds=10).table.workers
        8
    """
    from tailcut.study.recorded_run import recorded_run
    from tailcut.study.source import Recorded, Sampled
    from tailcut.traces import read_table
    from tailcut.traces.read import READERS

    name, *parts = spec.split(":")
    known = clusters()
    if name in known and not (parts and _exists(spec)):
        preset = known[name]
        by_clock, given = _states(spec, parts)
        cluster = preset.factory(**_arguments(spec, preset.factory, given))
        changed = f"; here with {', '.join(parts)}" if parts else ""
        return Sampled(spec, cluster.about or preset.about + changed, cluster, preset.rounds, by_clock)
    if not spec or not (_exists(spec) or "." in Path(spec).name or "/" in spec):
        raise UnknownNameError("source (neither a file nor a cluster)", spec, known)
    if _exists(spec) and Path(spec).is_dir() and Path(spec).suffix not in READERS:
        return recorded_run(spec)
    table = read_table(Path(spec))
    return Recorded(spec, f"recorded run times, {table.rounds} rounds of {table.workers} workers", table)


def _states(spec: str, parts: list[str]) -> tuple[bool, list[str]]:
    """Return whether states move by the clock, and the parameters that are the cluster's own."""
    mine = [part for part in parts if part.partition("=")[0] == STATES]
    if len(mine) > 1:
        raise ParameterError(f"{STATES} is given twice in {spec!r}. Give it once.")
    said = mine[0].partition("=")[2] if mine else "rounds"
    if said not in ("rounds", "clock"):
        raise ParameterError(
            f"{STATES} in {spec!r} must be rounds or clock, but got {said!r}. Write {STATES}=clock, say."
        )
    return said == "clock", [part for part in parts if part not in mine]


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except OSError:  # Too long for a name, say.
        return False


def _arguments(spec: str, factory: Callable[..., Any], parts: list[str]) -> dict[str, Any]:
    """Turn each `key=value` into the type the factory declares."""
    parameters = inspect.signature(factory).parameters
    hints = typing.get_type_hints(factory.func if isinstance(factory, functools.partial) else factory)
    values: dict[str, Any] = {}
    for part in parts:
        key, _, text = part.partition("=")
        if not (key and text):
            raise ParameterError(
                f"{part!r} in {spec!r} has no value. Write name:key=value, or the name alone."
            )
        if key not in parameters:
            raise UnknownNameError(f"parameter of {spec.split(':')[0]}", key, parameters)
        if key in values:
            raise ParameterError(f"{key} is given twice in {spec!r}. Give it once.")
        default = parameters[key].default
        # Without a hint the default shows what is meant.
        hint = hints.get(key, str if default is None else type(default))
        values[key] = _value(spec, key, text, hint, default)
    return values


def _value(spec: str, key: str, text: str, hint: Any, default: object) -> Any:
    choices = typing.get_args(hint) or (hint,)
    if text.lower() == "none" and types.NoneType in choices:
        return None
    if text in choices:  # One of a few words.
        return text
    kinds = [kind for kind in (bool, int, float, str) if kind in choices]
    for kind in kinds:
        try:
            return _READERS[kind](text)
        except ValueError:
            continue
    wanted = " or ".join(WANTED[kind] for kind in kinds) or f"one of {', '.join(map(str, choices))}"
    example = default if default is not None else 4 if int in kinds else 0.5
    raise ParameterError(f"{key} in {spec!r} must be {wanted}, but got {text!r}. Write {key}={example}, say.")


def _boolean(text: str) -> bool:
    if text.lower() in TRUE:
        return True
    if text.lower() in FALSE:
        return False
    raise ValueError(text)


def _number(text: str) -> float:
    number = float(text)
    if math.isnan(number):
        raise ValueError(text)
    return number


_READERS: dict[type, Callable[[str], Any]] = {bool: _boolean, int: int, float: _number, str: str}


def _plugged_in(group: str, kind: type) -> dict[str, Any]:
    """Return the objects of other packages by name; one that cannot be loaded is skipped with a warning."""
    found = {}
    for point in _offered(group, tuple((folder, _changed(folder)) for folder in sys.path)):
        try:
            loaded = point.load()
        except Exception as error:
            warnings.warn(f"Plug-in {point.name!r} of {group} could not be loaded: {error}", stacklevel=2)
            continue
        if isinstance(loaded, kind):
            found[point.name] = loaded
        else:
            what = f"a {kind.__name__}, but is {loaded!r}"
            warnings.warn(f"Plug-in {point.name!r} of {group} must be {what}.", stacklevel=2)
    return found


@functools.cache
def _offered(group: str, installed: tuple[tuple[str, float], ...]) -> EntryPoints:
    """Return the entry points of a group, cached until `installed` changes: finding them opens many files."""
    del installed
    return entry_points(group=group)


def _changed(folder: str) -> float:
    """Return the time of a folder's last change, in seconds since the epoch; 0 where there is no folder."""
    try:
        return Path(folder or ".").stat().st_mtime
    except OSError:
        return 0.0
