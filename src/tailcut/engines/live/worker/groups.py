"""The options of a torch optimizer's parameter groups: read before an update, and set to those it was made with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import zip_longest
from typing import Any, TypeAlias, final

import numpy as np
import torch
from torch import Tensor

from tailcut.engines.live.options import is_packed, opaque, pack, summary, unpack
from tailcut.errors import ParameterError, TailcutError

RateOf: TypeAlias = Callable[[int], "float | Sequence[float]"]
"""Function from a version to the next update's learning rate: one for all groups, or one for each."""
_MAX_INTEGER = 1 << 63
REMEDY = (
    "A late worker or a checkpoint would not have them at the same version. Give all parameters to the optimizer "
    "before it is wrapped, and freeze those that are trained later, with requires_grad_(False): what is frozen stays "
    "as it is."
)
"""Part of error messages: what to do instead of changing parameter groups during a run."""
FROZEN = "set of frozen parameters"
"""Name under which an arrival tells the parameters that need no gradient, beside the options."""


class GroupsError(TailcutError):
    """The parameter groups were changed after the wrapping, or are not those of an update."""


@final
class Groups:
    """The parameter groups of one optimizer.

    Args:
        optimizer: the user's own, of torch.

    Example:
        >>> inner = torch.optim.SGD([torch.zeros(1)], lr=0.1)
        >>> groups, before = Groups(inner), Groups(inner).read()
        >>> inner.param_groups[0]["lr"] = 0.2
        >>> groups.read() == before
        False
        >>> groups.impose(before)
        >>> inner.param_groups[0]["lr"]
        0.1
    """

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self._optimizer = optimizer
        self._members = _members(optimizer.param_groups)
        self._seen: list[dict[str, Any]] | None = None
        self._packed = self._summary = b""
        self._frozen: list[str] = []

    def read(self) -> bytes:
        """Return the current options of all groups, packed.

        Raises:
            GroupsError: the groups do not have the parameters any more that they had when the optimizer was wrapped.
            ParameterError: a learning rate is no finite number.
        """
        groups = self._optimizer.param_groups
        if not self._is_seen(groups):
            self._refuse_unfit(groups)
            for group in groups:
                # A numpy number computes in its own precision, unknown to the workers that pull this.
                group.update({k: v.item() for k, v in group.items() if isinstance(v, np.generic)})
            plain = [{str(k): _plain(v) for k, v in each.items() if k != "params"} for each in groups]
            self._packed, self._summary = pack(plain), b""
            # Options that can change in place are read again each time.
            is_fixed = all(_is_fixed(v) for each in groups for k, v in each.items() if k != "params")
            self._seen = [dict(each) for each in groups] if is_fixed else None
        return self._packed

    def summarize(self) -> bytes:
        """Return the summary of options and frozen parameters that goes with every arrival."""
        packed, frozen = self.read(), [_frozen(each["params"]) for each in self._optimizer.param_groups]
        if frozen != self._frozen or not self._summary:
            self._frozen = frozen
            self._summary = summary(packed, {FROZEN: frozen} if any(frozen) else None)
        return self._summary

    def impose(self, packed: bytes) -> None:
        """Set the options to those that an update was made with.

        Raises:
            GroupsError: the update was made with another number of groups.
        """
        if packed == self.read():
            return
        groups, wanted = self._optimizer.param_groups, unpack(packed)
        if len(groups) != len(wanted):
            raise GroupsError(
                f"An update was made with {len(wanted)} parameter groups, but this worker has {len(groups)} of them. "
                "Make all groups before the optimizer is wrapped."
            )
        for group, options in zip(groups, wanted, strict=True):
            for name, value in options.items():
                if name != "params" and is_packed(value) and _plain(group.get(name)) != value:
                    _put(group, name, value)

    def set_rates(self, rate_of: RateOf, version: int) -> None:
        """Set the learning rates to what a function of the version returns.

        Raises:
            ParameterError: the function returns something else than one rate, or one for each group.
        """
        groups, given = self._optimizer.param_groups, rate_of(version)
        rates = given if isinstance(given, Sequence) else [given] * len(groups)
        for group, rate in zip_longest(groups, rates):
            number = _plain(rate)
            if group is None or not isinstance(number, int | float) or not 0 <= number < float("inf"):
                raise ParameterError(
                    f"scheduler({version}) must return a learning rate of 0 or more, or a list of one for each of the "
                    f"{len(groups)} parameter groups, but returned {given!r}."
                )
            _put(group, "lr", float(number))

    def _refuse_unfit(self, groups: list[dict[str, Any]]) -> None:
        if _members(groups) != self._members:
            raise GroupsError(
                "The parameter groups were changed after the optimizer was wrapped: it had "
                f"{len(self._members)} of them, and has {len(groups)}. {REMEDY}"
            )
        for number, group in enumerate(groups):
            rate = _plain(group.get("lr", 0.0))
            if not isinstance(rate, int | float) or not math.isfinite(rate):
                raise ParameterError(
                    f"The learning rate of group {number} must be a finite number, but is {rate!r}. "
                    "See where it is set."
                )

    def _is_seen(self, groups: list[dict[str, Any]]) -> bool:
        # One comparison of lists is fast: identical values are equal at once, and no Python loop runs.
        try:
            return self._seen is not None and self._seen == groups
        except (RuntimeError, ValueError):
            # A comparison of tensors with several elements has no truth value.
            return False


def _members(groups: list[dict[str, Any]]) -> list[list[int]]:
    """Return the ids of the parameters of each group."""
    return [[id(each) for each in group["params"]] for group in groups]


def _frozen(parameters: Sequence[Tensor]) -> str:
    """Say which parameters of a group need no gradient; empty for none."""
    numbers = [n for n, each in enumerate(parameters) if not each.requires_grad]
    if not numbers:
        return ""
    if len(numbers) == len(parameters):
        return f"all {len(parameters)}"
    return (
        f"{len(numbers)} of {len(parameters)} ({blake2b(str(numbers).encode(), digest_size=4).hexdigest()})"
    )


def _put(group: dict[str, Any], name: str, value: Any) -> None:
    """Set one option in its present type: a tensor keeps its identity, which compiled steps rely on."""
    known = group.get(name)
    if isinstance(known, Tensor):
        with torch.no_grad():
            known.copy_(torch.tensor(value, dtype=known.dtype))
    elif isinstance(value, list):
        group[name] = [
            _kept(old, new)
            for old, new in zip_longest(known if isinstance(known, list | tuple) else (), value)
        ][: len(value)]
        if not isinstance(known, list):
            group[name] = tuple(group[name])
    else:
        group[name] = value


def _kept(old: Any, new: Any) -> Any:
    """Return the new one of several values, written into the old one where that is a tensor."""
    if isinstance(old, Tensor):
        with torch.no_grad():
            return old.copy_(torch.tensor(new, dtype=old.dtype))
    return new


def _plain(value: Any) -> Any:
    """Return a value in a form that can be packed."""
    if value is None or type(value) in (bool, float, str):
        return value
    if isinstance(value, Tensor) and not value.is_complex():
        return value.tolist()
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, int) and -_MAX_INTEGER <= value < _MAX_INTEGER:
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(each) for key, each in value.items()}
    return opaque(value)


def _is_fixed(value: Any) -> bool:
    """Tell whether a value can change only by being replaced."""
    if isinstance(value, tuple):
        return all(map(_is_fixed, value))
    return value is None or isinstance(value, bool | int | float | str | np.generic)
