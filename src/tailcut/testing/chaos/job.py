"""The training script of a chaos run: a net whose gradients follow a known law; each worker keeps a journal.

    tailcut launch -n 8 --restarts 100 job.py FOLDER

The gradient of a worker at a version is a mixture of a few fixed directions, independent of the parameters:

    directions = standard normal numbers `(4, size)`, single precision, of the generator [seed]
    weights    = 4 standard normal numbers of the generator [seed, worker, version]
    gradient   = weights @ directions, the mean over 1 + (worker + version) % 3 samples
    parameters = directions[0] at first

This file imports nothing of the package it lies in, so that killed workers start again sooner.

FOLDER/plan.json            the plan, as in `faults.py`
FOLDER/journals/3-1.jsonl   journal of worker 3 in its second life; each line is written at once
FOLDER/pids/3               process id of worker 3; `pids/-2` is that of the controller
FOLDER/armed/7              present while fault 7 may strike, at the version in it or later
FOLDER/struck/7             present once fault 7 was carried out, once in a run
FOLDER/end                  the version at which to leave
FOLDER/disk/run             the controller's own journal, where the plan asks for it
FOLDER/disk/kept            checkpoints, where the plan asks for them
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, final

import numpy as np
import torch
from torch import Tensor, nn

import tailcut
from tailcut.engines.live import points
from tailcut.engines.live.data.ring import SEGMENT

DIRECTIONS = 4
ANYBODY, ACCEPTED = -1, -3
UNNOTED = ("segment", "summed", "submitted", "reported")
"""Points that are not written to the journals, since the checker does not need them."""


@final
class Numbers(nn.Module):
    """The net: three parameter tensors with `size` numbers together."""

    def __init__(self, size: int, seed: int, worker: int) -> None:
        super().__init__()
        self._seed, self._worker = seed, worker
        self._directions = np.random.default_rng([seed]).standard_normal((DIRECTIONS, size), dtype=np.float32)
        first, second = size // 2, size // 4
        self._sizes = [first, second, size - first - second]
        self.parts = nn.ParameterList(part.clone() for part in self._cut(self._directions[0]))

    def make_gradient(self, version: int) -> None:
        """Set the parameters' gradients to those of this worker at a version."""
        weights = np.random.default_rng([self._seed, self._worker, version]).standard_normal(DIRECTIONS)
        gradient = weights.astype(np.float32) @ self._directions
        for part, own in zip(self.parts, self._cut(gradient), strict=True):
            part.grad = own

    def samples(self, version: int) -> int:
        """Return the number of samples that the gradient counts as the mean of."""
        return 1 + (self._worker + version) % 3

    @property
    def numbers(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The parameters, one after another."""
        flat: np.ndarray[Any, np.dtype[np.float32]] = torch.cat(
            [part.detach() for part in self.parts]
        ).numpy()
        return flat

    @property
    def digest(self) -> str:
        """The checksum of the parameters, as 8 hexadecimal digits; equal for equal bits."""
        found = 0
        for part in self.parts:
            found = zlib.crc32(part.detach().numpy().data, found)
        return f"{found:08x}"

    def _cut(self, numbers: np.ndarray[Any, np.dtype[np.float32]]) -> Iterator[Tensor]:
        yield from torch.split(torch.from_numpy(numbers), self._sizes)


@final
class Journal:
    """The journal file of one life of a worker."""

    def __init__(self, folder: Path, worker: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        for self.life in range(1_000_000):
            try:
                self._file = os.open(folder / f"{worker}-{self.life}.jsonl", flags)
                return
            except FileExistsError:
                continue

    def note(self, what: str, **more: object) -> None:
        """Write one line at once, so that a death loses none."""
        line = json.dumps({"what": what, "at": time.monotonic(), **more}) + "\n"
        os.write(self._file, line.encode())


@final
class Strikes:
    """The faults of the plan that this worker carries out on itself."""

    def __init__(self, folder: Path, plan: dict[str, Any], worker: int) -> None:
        self._folder, self._worker = folder, worker
        self._size: int = plan["size"]
        self._shared: bool = plan["shared"]
        self._workers: int = plan["workers"]
        self._mine = [fault for fault in plan["faults"] if fault["victim"] in (worker, ANYBODY)]
        self._segments = 0
        self._accepted: tuple[int, ...] = ()

    def look(self, point: str, version: int, accepted: tuple[int, ...]) -> None:
        """Carry out the faults that are due now that this worker has reached a point."""
        if accepted:
            self._workers, self._accepted = len(accepted), accepted
        if point == "reducing":
            self._segments = 0
        self._segments += point == "segment"
        for fault in self._mine:
            if fault["point"] == point and self._is_due(fault, version):
                self._strike(fault, version)

    def _is_due(self, fault: dict[str, Any], version: int) -> bool:
        if fault["point"] == "segment" and self._segments < self._all_segments - fault["left"]:
            return False
        number = str(fault["number"])
        try:
            armed = int((self._folder / "armed" / number).read_text() or "0")
        except FileNotFoundError:
            return False
        return version >= armed and not (self._folder / "struck" / number).exists()

    @property
    def _all_segments(self) -> int:
        """The number of points `segment` in a reduction among as many workers as in the last update."""
        others = max(1, self._workers - 1)
        if self._shared:
            return 2 * others
        return 2 * others * math.ceil(math.ceil(self._size / (others + 1)) / SEGMENT)

    def _strike(self, fault: dict[str, Any], version: int) -> None:
        if fault["delay"]:
            timer = threading.Timer(fault["delay"], self._do, (fault, version))
            timer.daemon = True
            timer.start()
        else:
            self._do(fault, version)

    def _do(self, fault: dict[str, Any], version: int) -> None:
        also = [*fault["also"], *(self._accepted if ACCEPTED in fault["also"] else ())]
        told = {
            **fault,
            "also": [other for other in also if other not in (ACCEPTED, self._worker)],
            "worker": self._worker,
            "version": version,
            "pid": os.getpid(),
            "at": time.monotonic(),
        }
        # `os.link` puts the whole file there at once, and fails if another worker has struck first.
        draft = self._folder / f".{os.getpid()}-{fault['number']}"
        draft.write_text(json.dumps(told))
        try:
            os.link(draft, self._folder / "struck" / str(fault["number"]))
        except FileExistsError:
            return
        for other in also:
            if other not in (ACCEPTED, self._worker):
                _kill(self._folder / "pids" / str(other))
        if fault["deed"] == "orphan":
            return
        os.kill(os.getpid(), signal.SIGSTOP if fault["deed"] == "stop" else signal.SIGKILL)


def _kill(pid: Path) -> None:
    with suppress(FileNotFoundError, ProcessLookupError):
        os.kill(int(pid.read_text()), signal.SIGKILL)


def optimiser_of(net: nn.Module, name: str) -> torch.optim.Optimizer:
    """Return the optimizer with this name in the plan."""
    if name == "adam":
        return torch.optim.Adam(net.parameters(), lr=0.01)
    return torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)


def end_of(folder: Path) -> float:
    """Return the version at which to leave; infinity as long as none is set."""
    try:
        return float((folder / "end").read_text())
    except FileNotFoundError:
        return math.inf


def main(folder: Path) -> None:
    """Train as the plan in the folder says, with a journal, and carry out this worker's faults."""
    plan: dict[str, Any] = json.loads((folder / "plan.json").read_text())
    worker = int(os.environ["RANK"])
    (folder / "pids" / str(worker)).write_text(str(os.getpid()))
    journal, strikes = Journal(folder / "journals", worker), Strikes(folder, plan, worker)
    told = {name: plan[name] for name in ("seed", "size", "optimiser", "workers")}
    journal.note("started", worker=worker, pid=os.getpid(), settings=told)
    torch.set_num_threads(1)
    net = Numbers(plan["size"], plan["seed"], worker)

    def watcher(point: str, version: int, chain: bytes, accepted: tuple[int, ...]) -> None:
        if point == "applied":
            journal.note(point, version=version, chain=chain.hex(), accepted=accepted, digest=net.digest)
        elif point in ("copied", "resumed"):
            journal.note(point, version=version, digest=net.digest)
        elif point not in UNNOTED:
            journal.note(point, version=version)
        strikes.look(point, version, accepted)

    points.watch(watcher)
    try:
        train(folder, plan, net, watcher, journal)
    except BaseException as problem:
        journal.note("failed", why=f"{type(problem).__name__}: {problem}")
        raise


def train(
    folder: Path, plan: dict[str, Any], net: Numbers, watcher: points.Watcher, journal: Journal
) -> None:
    """Train until the version at which to leave, then write the final parameters."""
    opt = tailcut.Optimizer(
        optimiser_of(net, plan["optimiser"]),
        net,
        policy=plan["policy"],
        rate="fixed",
        total=plan["total"],
        max_wait=plan["max_wait"],
        journal=folder / "disk" / "run" if plan["journal"] else None,
        checkpoints=folder / "disk" / "kept" if plan["checkpoint_every"] else None,
        checkpoint_every=plan["checkpoint_every"] or 1,
        min_workers=plan["min_workers"],
    )
    journal.note("begun", version=opt.version, digest=net.digest)
    chances = np.random.default_rng([plan["seed"], opt.worker, journal.life])
    while not opt.over and opt.version < end_of(folder):
        seconds = plan["unit"] * (plan["times"] if chances.random() < plan["chance"] else 1.0)
        net.make_gradient(opt.version)
        time.sleep(seconds / 2)
        watcher("computing", opt.version, b"", ())
        time.sleep(seconds / 2)
        opt.step(samples=net.samples(opt.version))
    final = folder / "journals" / f"{opt.worker}-{journal.life}.numbers"
    net.numbers.tofile(final)
    journal.note("ended", version=opt.version, digest=net.digest, final=final.name)
    opt.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
