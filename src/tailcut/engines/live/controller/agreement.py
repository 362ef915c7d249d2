"""Checks that all workers use the same options of the optimizer at the same version.

A worker that is late applies updates with the options that they were made with. So options belong to a version, and
two workers that arrive at one version with different options would train different nets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, final

import msgspec
from msgspec.msgpack import Ext

from tailcut.engines.live.controller.words import short, workers
from tailcut.engines.live.messages import Arrived
from tailcut.engines.live.options import ABSENT, OptionsError, Runs, read_summary, values
from tailcut.types import WorkerId

MAX_VERSIONS = 16
"""Newest versions whose options are remembered. Nothing is compared for a worker that is further behind."""
MAX_NAMED = 3
"""Most differing options that one sentence describes."""
Told: TypeAlias = Mapping[bytes, Sequence[WorkerId]]
"""Workers by the summary of their options."""


@final
class Agreement:
    """The options that workers have arrived with, by version."""

    def __init__(self) -> None:
        self._told: dict[int, dict[bytes, list[WorkerId]]] = {}

    def opened(self, version: int) -> None:
        """Forget the options of a version whose round opens: if it opens again, all workers arrive again."""
        self._told.pop(version, None)

    def difference(self, arrival: Arrived) -> str | None:
        """Return why the run cannot go on after this arrival, as a sentence; None if all options agree so far."""
        told = self._told.setdefault(arrival.version, {})
        who = told.setdefault(arrival.options, [])
        if arrival.worker not in who:
            who.append(arrival.worker)
        if len(self._told) > MAX_VERSIONS:
            del self._told[min(self._told)]
        if len(told) == 1:
            return None
        return (
            f"Workers use different options of the optimizer at version {arrival.version}: {described(told)}. Set them "
            "as a function of opt.version, the same at every worker, or give scheduler= a function of the version: "
            "workers that are late skip versions, so their own counts of steps differ."
        )


def described(told: Told) -> str:
    """Say which options differ, and which workers have which values.

    Args:
        told: at least two different summaries.

    Example:
        >>> from tailcut.engines.live.options import pack, summary
        >>> one, two = (summary(pack([{"lr": 0.5}, {"lr": rate}])) for rate in (0.1, 0.2))
        >>> described({one: [2, 0], two: [1]})
        'lr of group 1 is 0.1 at workers 0 and 2, 0.2 at worker 1'
    """
    try:
        found = [read_summary(each) for each in told]
        groups = {each.groups for each in found}
        if len(groups) > 1:
            return "the number of parameter groups is " + _by_value([each.groups for each in found], told)
        said = _columns([dict(each.columns) for each in found], groups.pop(), told)
    except OptionsError:
        said = ["what workers tell of them cannot be read"]
    more = len(said) - MAX_NAMED
    return "; ".join([*said[:MAX_NAMED], *([f"{more} more differ"] if more > 0 else [])])


def _columns(columns: Sequence[Mapping[str, Runs | Ext]], groups: int, told: Told) -> list[str]:
    names = sorted({name for each in columns for name in each})
    rows = [(name, [each.get(name, ABSENT) for each in columns]) for name in names]
    return [_column(name, row, groups, told) for name, row in rows if _differ(row)]


def _column(name: str, row: Sequence[Runs | Ext], groups: int, told: Told) -> str:
    """Say how one option differs, in the first group in which it does."""
    if any(isinstance(each, Ext) and each != ABSENT for each in row):
        return f"{short(name)} of some of the {groups} groups, at " + " and ".join(
            map(workers, told.values())
        )
    by_worker = [[ABSENT] * groups if isinstance(each, Ext) else values(each, groups) for each in row]
    group = next((n for n in range(groups) if _differ([each[n] for each in by_worker])), None)
    if group is None:
        raise OptionsError(f"The same values of {name!r} came in different words.")
    shown = ["absent" if each[group] == ABSENT else short(repr(each[group])) for each in by_worker]
    which = short(name) if groups == 1 else f"{short(name)} of group {group}"
    return f"{which} is {_by_value(shown, told)}"


def _differ(some: Sequence[object]) -> bool:
    return len({msgspec.msgpack.encode(each) for each in some}) > 1


def _by_value(shown: Sequence[object], told: Told) -> str:
    pairs = zip(shown, told.values(), strict=True)
    return ", ".join(f"{value} at {workers(sorted(who))}" for value, who in pairs)
