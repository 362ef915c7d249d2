"""Bugs that an engine could have, put into every process of a run to test that the checker finds them.

The engine has no code for them. Python imports `sitecustomize` before it runs anything; the one that
is put on the path here patches a module of the engine right after its import. It runs this file alone, so
this file imports nothing of tailcut at its top.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias, final

BUG = "TAILCUT_BUG"
"""Environment variable that holds the name of the bug."""
CHAOS = "TAILCUT_CHAOS"
"""Environment variable that holds the folder of the run."""
_LIVE = "tailcut.engines.live"
Patch: TypeAlias = Callable[[Any], None]


def planted(name: str, root: Path) -> dict[str, str]:
    """Prepare a bug; return the environment variables with which a process has it."""
    from tailcut.errors import ParameterError

    if name not in BUGS:
        raise ParameterError(f"There is no bug {name!r}. Name one of {', '.join(BUGS)}.")
    folder = root / "bug"
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(
        "from importlib.util import module_from_spec, spec_from_file_location\n"
        f"spec = spec_from_file_location('planted_bugs', {__file__!r})\n"
        "bugs = module_from_spec(spec)\n"
        "spec.loader.exec_module(bugs)\n"
        "bugs.plant()\n"
    )
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))
    return {"PYTHONPATH": path, BUG: name}


def plant() -> None:
    """Put the bug that the environment names into this process."""
    sys.meta_path.insert(0, _Finder(BUGS[os.environ[BUG]]))


@final
class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules to patch as usual, and patches each after its import."""

    def __init__(self, patches: Mapping[str, Patch]) -> None:
        self._patches = patches

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._patches:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._patches[fullname])
        return spec


@final
class _Loader(importlib.abc.Loader):
    def __init__(self, usual: importlib.abc.Loader, patch: Patch) -> None:
        self._usual, self._patch = usual, patch

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._usual.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._usual.exec_module(module)
        self._patch(module)


# -- naive repeat: after a death all workers repeat the closed round, also those that had completed it ------


def _back_to_the_round(change: Any) -> None:
    settled = change.Change.settled

    def naive(self: Any, newest: int, now: float) -> Any:
        found = settled(self, newest, now)
        if found is None or found.holder is None:
            return found
        behind = [
            worker
            for worker in self._places.there
            if self._places[worker].doing.name == "BROKE" and self._places[worker].has == found.base - 1
        ]
        return replace(found, holder=behind[0], base=found.base - 1) if behind else found

    change.Change.settled = naive


def _do_it_again(member: Any) -> None:
    goes_on = member.Member._goes_on

    def naive(self: Any, new: Any) -> bool:
        if new.base < self.version and self.worker not in new.joiners:
            it = self._updating
            it.replica.version = new.base
            it.log.restart(new.base, *it.log.before[new.base])
        return bool(goes_on(self, new))

    member.Member._goes_on = naive


def _remember(log: Any) -> None:
    append = log.UpdateLog.append

    def remembering(self: Any, update: Any) -> None:
        self.__dict__.setdefault("before", {})[update.version] = self.chain, self.positions
        append(self, update)

    log.UpdateLog.append = remembering


# -- retry from the in-place buffer -------------------------------------------------------------------------------


def _reduce_in_place(updating: Any) -> None:
    reduce = updating.reduce

    def in_place(group: Any, me: int, accepted: Any, source: Any, out: Any, *more: Any, **named: Any) -> None:
        # Through shared memory the result is written only when complete: only a ring can have this bug.
        named["shared"] = None
        out.copy_(source)
        try:
            reduce(group, me, accepted, source, out, *more, **named)
        except BaseException:
            source.copy_(out)
            raise

    updating.reduce = in_place


# -- no promise: a worker completes a reduction after it has reported that it will not -------------------


def _break_the_promise(updating: Any) -> None:
    """Let a worker that completes a reduction with a death in it deny that, and use the result later."""
    reduce, make, made = updating.reduce, updating.Updating.make, updating.Update.made
    struck = Path(os.environ[CHAOS]) / "struck"
    now: list[Any] = []
    held: list[Any] = []

    def noting(self: Any, close: Any) -> Any:
        now[:] = [close, self.log.chain]
        return make(self, close)

    def saying_no(
        group: Any, me: int, accepted: Any, source: Any, out: Any, *more: Any, **named: Any
    ) -> None:
        before = len(list(struck.iterdir()))
        reduce(group, me, accepted, source, out, *more, **named)
        if len(list(struck.iterdir())) > before:
            held[:] = [made(now[0], out.clone(), now[1])]
            raise updating.ReduceError("It did not end.")

    def coming_out_with_it(close: Any, flat: Any, chain: bytes) -> Any:
        old, held[:] = list(held), []
        return old[0] if old and old[0].version == close.version else made(close, flat, chain)

    updating.reduce, updating.Updating.make = saying_no, noting
    updating.Update.made = coming_out_with_it


# -- early publication of a checkpoint ----------------------------------------------------------------------------


def _publish_at_once(saving: Any) -> None:
    write = saving.Checkpoints._write

    def hasty(self: Any, version: int, flat: Any) -> None:
        write(self, version, flat)
        self._publish(version)

    saving.Checkpoints._write = hasty


BUGS: dict[str, dict[str, Patch]] = {
    "naive repeat": {
        f"{_LIVE}.controller.change": _back_to_the_round,
        f"{_LIVE}.worker.member": _do_it_again,
        f"{_LIVE}.data.log": _remember,
    },
    "in-place retry": {f"{_LIVE}.worker.updating": _reduce_in_place},
    "no promise": {f"{_LIVE}.worker.updating": _break_the_promise},
    "early publication": {f"{_LIVE}.checkpoints.saving": _publish_at_once},
}
