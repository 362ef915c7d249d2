"""Names to objects: the only place where strings become policies, clusters and sources.

A name may carry parameters, `name:key=value:key=value`. Packages add their own under the entry-point groups
`tailcut.policies` and `tailcut.clusters`.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
import warnings
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from tailcut.clusters.presets import PRESETS, Preset
from tailcut.errors import ParameterError, UnknownNameError
from tailcut.policies import POLICIES, NamedPolicy
from tailcut.study.contest import Entrant
from tailcut.study.source import Recorded, Sampled, Source
from tailcut.traces import read_table

TRUE, FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def policies() -> Mapping[str, NamedPolicy]:
    """All policies by name, built-in ones first."""
    return {**POLICIES, **_plugged_in("tailcut.policies", NamedPolicy)}


def clusters() -> Mapping[str, Preset]:
    """All clusters by name, built-in ones first."""
    return {**PRESETS, **_plugged_in("tailcut.clusters", Preset)}


def entrant(spec: str) -> Entrant:
    """The policy that `name:key=value` stands for.

    Example:
        >>> entrant("backup:b=4").policy.rule
        Backup(b=4, c=None, share=None)
    """
    name, texts = _split(spec)
    known = policies()
    if name not in known:
        raise UnknownNameError("policy", name, known)
    named = known[name]
    return Entrant(spec, named.make(**_arguments(spec, named.make, texts)), named.acceptance)


def source(spec: str) -> Source:
    """The cluster or file that a text stands for; a name of a cluster goes before a file of that name.

    Example:
        >>> source("demo8").draw(seed=0, rounds=10).table.workers
        8
    """
    name, texts = _split(spec)
    known = clusters()
    if name in known:
        preset = known[name]
        cluster = preset.factory(**_arguments(spec, preset.factory, texts))
        return Sampled(spec, preset.about, cluster, preset.rounds)
    if not Path(spec).exists() and "." not in Path(spec).name and "/" not in spec:
        raise UnknownNameError("source (neither a file nor a cluster)", spec, known)
    table = read_table(Path(spec))
    return Recorded(spec, f"recorded run times, {table.rounds} rounds of {table.workers} workers", table)


def _split(spec: str) -> tuple[str, dict[str, str]]:
    name, *parts = spec.split(":")
    texts: dict[str, str] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if not (key and equals and value):
            # A path may hold colons; the caller falls back to reading it as a file.
            return spec, {}
        if key in texts:
            raise ParameterError(f"{key} is given twice in {spec!r}. Give it once.")
        texts[key] = value
    return name, texts


def _arguments(spec: str, factory: Callable[..., Any], texts: dict[str, str]) -> dict[str, Any]:
    """Turn the texts into the types the factory declares."""
    parameters = inspect.signature(factory).parameters
    hints = typing.get_type_hints(factory.func if isinstance(factory, functools.partial) else factory)
    for key in texts:
        if key not in parameters:
            raise UnknownNameError(f"parameter of {spec.split(':')[0]}", key, parameters)
    return {key: _value(spec, key, text, hints.get(key, str)) for key, text in texts.items()}


def _value(spec: str, key: str, text: str, hint: Any) -> Any:
    kinds = [k for k in typing.get_args(hint) or (hint,) if k is not types.NoneType]
    if text.lower() == "none" and types.NoneType in typing.get_args(hint):
        return None
    for kind in (bool, int, float, str):
        if kind in kinds:
            try:
                return _boolean(text) if kind is bool else kind(text)
            except ValueError:
                continue
    wanted = " or ".join(k.__name__ for k in kinds)
    raise ParameterError(f"{key} in {spec!r} must be {wanted}, but got {text!r}.")


def _boolean(text: str) -> bool:
    if text.lower() in TRUE:
        return True
    if text.lower() in FALSE:
        return False
    raise ValueError(text)


def _plugged_in(group: str, kind: type) -> dict[str, Any]:
    """What other packages offer; one that cannot be loaded is passed over with a warning."""
    found = {}
    for point in entry_points(group=group):
        try:
            loaded = point.load()
        except Exception as error:
            warnings.warn(f"Plug-in {point.name!r} of {group} could not be loaded: {error}", stacklevel=2)
            continue
        if isinstance(loaded, kind):
            found[point.name] = loaded
    return found
